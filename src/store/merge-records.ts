/**
 * Two records about one sandbox become one. They come about because every loop may die between any two writes and be run again
 * elsewhere (I7): two controllers may record the same end twice, or two different ends of the same sandbox — one saw its pod
 * vanish, the other a client's delete. The rules:
 *
 * 1. **The first end that is stored is the end.** A caller may have read it; it does not change afterwards. Status, stop reason,
 *    time, failure and exit code belong together and are never mixed from two different ends.
 * 2. **An end beats no end**, whichever comes first: a record never goes back to being live.
 * 3. **Nothing known is lost.** What the winning record leaves open is filled in from the other: fields, and keys of maps. Its end
 *    is filled in only from a record of the same end, which is one with the same status and no other failure reason.
 * 4. **A later life replaces an earlier one.** A sandbox that was resumed from a checkpoint lives again under its id and is claimed
 *    again, so a record with a later claim tells of a later life, and only its end is the end. (Rule 2 still holds: a later life
 *    that has not ended yet does not hide the end of the earlier one.)
 * 5. **An owner is for ever.** A record of another tenant under the same id is refused: merging would show one what the other had.
 *
 * Putting a record that is already merged changes nothing, so repeating is always safe.
 */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { isTerminalStatus, type SandboxRecord } from "#model/sandbox-record.ts";
import { HistoryError } from "./history-error.ts";

export function mergeRecords(stored: SandboxRecord, incoming: SandboxRecord): SandboxRecord {
  refuseOtherOwner(stored, incoming);
  if (incoming.claimedAt !== stored.claimedAt) return ofTwoLives(stored, incoming);
  return hasEnded(stored) ? filledIn(stored, incoming) : filledIn(incoming, stored);
}

function refuseOtherOwner(stored: SandboxRecord, incoming: SandboxRecord): void {
  const same = stored.team === incoming.team && stored.user === incoming.user && stored.namespace === incoming.namespace;
  if (same) return;
  throw new HistoryError(
    "conflict",
    `sandbox ${stored.sandboxId} already has a record of another owner: ids must be unique over all tenants, so this one is not stored`,
  );
}

function ofTwoLives(stored: SandboxRecord, incoming: SandboxRecord): SandboxRecord {
  const incomingIsLater = incoming.claimedAt > stored.claimedAt;
  if (hasEnded(stored) === hasEnded(incoming)) return incomingIsLater ? incoming : stored;
  return hasEnded(stored) ? stored : incoming;
}

function hasEnded(record: SandboxRecord): boolean {
  return isTerminalStatus(record.status);
}

/** `record` with its gaps filled from `other`, which is about the same life. */
function filledIn(record: SandboxRecord, other: SandboxRecord): SandboxRecord {
  const { terminatedAt, stopReason, failureReason, failureMessage, exitCode, ...rest } = other;
  const end = isSameEnd(record, other) ? { terminatedAt, stopReason, failureReason, failureMessage, exitCode } : {};
  const labels = record.labels === undefined && other.labels === undefined ? {} : { labels: { ...other.labels, ...record.labels } };
  return {
    ...withoutUndefined(end),
    ...rest,
    ...record,
    containerImages: { ...other.containerImages, ...record.containerImages },
    metadata: { ...other.metadata, ...record.metadata },
    ...labels,
  };
}

function isSameEnd(a: SandboxRecord, b: SandboxRecord): boolean {
  if (a.status !== b.status) return false;
  return a.failureReason === undefined || b.failureReason === undefined || a.failureReason === b.failureReason;
}
