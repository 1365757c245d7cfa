/**
 * Puts the end of a sandbox into the history, from its pod. Everybody who wipes a pod's identity or lets go of it does this first
 * (I3, W9). Repeating it is safe: the record is the same, and the first end that was stored stays (store/merge-records.ts).
 */
import type { Clock } from "#lib/clock.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { captureStopRecord } from "#sandbox/stop-record.ts";
import { HistoryError } from "#store/history-error.ts";
import type { HistoryStore } from "#store/history-store.ts";

export interface RecordDeps {
  readonly history: Pick<HistoryStore, "put">;
  readonly clock: Clock;
}

export type RecordedEnd =
  | { readonly kind: "recorded"; readonly record: SandboxRecord }
  /** The pod carries no sandbox. */
  | { readonly kind: "nobody" }
  /** The history will never take it, however often it is asked. Waiting would only hold the pod for ever. */
  | { readonly kind: "refused"; readonly record: SandboxRecord; readonly why: string };

/** Throws HistoryError for what may be different later; the pod must then stay as it is. */
export async function recordEnd({ history, clock }: RecordDeps, pod: Pod): Promise<RecordedEnd> {
  const record = captureStopRecord(pod, clock.now());
  if (record === undefined) return { kind: "nobody" };
  try {
    await history.put(record);
    return { kind: "recorded", record };
  } catch (error) {
    if (isForGood(error)) return { kind: "refused", record, why: error.message };
    throw error;
  }
}

function isForGood(error: unknown): error is HistoryError {
  return error instanceof HistoryError && (error.code === "invalid" || error.code === "conflict");
}
