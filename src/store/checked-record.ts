/**
 * A record as it is stored. A put that the database refuses would keep its pod from being recycled for ever, so what one of the two
 * databases cannot hold is replaced here, the same way for both, and what makes no sense is refused with its field's name.
 */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { isTerminalStatus, type SandboxRecord, sandboxRecordStatuses } from "#model/sandbox-record.ts";
import { HistoryError } from "./history-error.ts";
import { isSandboxId, normalTime } from "./record-key.ts";

/** Longest name that a Kubernetes object may have; indexes of PostgreSQL end not far behind. */
const maxNameLength = 253;

type Texts = Readonly<Record<string, string>>;

/** Throws HistoryError `invalid`. The copy holds only the fields that a record has. */
export function checkedRecord(record: SandboxRecord): SandboxRecord {
  if (!isSandboxId(record.sandboxId)) {
    throw invalid(record, "sandboxId", "must be 1 to 253 visible ASCII characters");
  }
  if (!sandboxRecordStatuses.includes(record.status)) {
    throw invalid(record, "status", `must be one of ${sandboxRecordStatuses.join(", ")}`);
  }
  if (isTerminalStatus(record.status) && record.terminatedAt === undefined) {
    throw invalid(record, "terminatedAt", `must be there when the status is ${record.status}`);
  }
  if (record.exitCode !== undefined && !Number.isSafeInteger(record.exitCode)) {
    throw invalid(record, "exitCode", "must be a whole number");
  }
  return { ...required(record), ...withoutUndefined(optional(record)) };
}

function required(record: SandboxRecord) {
  return {
    sandboxId: record.sandboxId,
    namespace: name(record, "namespace"),
    poolName: name(record, "poolName"),
    podName: name(record, "podName"),
    team: name(record, "team"),
    user: name(record, "user"),
    status: record.status,
    claimedAt: time(record, "claimedAt", record.claimedAt),
    containerImages: storableTexts(record.containerImages),
    metadata: storableTexts(record.metadata),
  };
}

function optional(record: SandboxRecord) {
  return {
    envName: record.envName === undefined ? undefined : name(record, "envName"),
    templateName: record.templateName === undefined ? undefined : name(record, "templateName"),
    startedAt: record.startedAt === undefined ? undefined : time(record, "startedAt", record.startedAt),
    terminatedAt: record.terminatedAt === undefined ? undefined : time(record, "terminatedAt", record.terminatedAt),
    stopReason: record.stopReason,
    failureReason: storableText(record.failureReason),
    failureMessage: storableText(record.failureMessage),
    exitCode: record.exitCode,
    containerId: storableText(record.containerId),
    labels: record.labels === undefined ? undefined : storableTexts(record.labels),
    cpu: storableText(record.cpu),
    memory: storableText(record.memory),
    node: storableText(record.node),
    volumeMounts: record.volumeMounts?.map(({ name: volume, path, readOnly }) => ({
      name: storable(volume),
      path: storable(path),
      readOnly,
    })),
  };
}

type NameField = "namespace" | "poolName" | "podName" | "team" | "user" | "envName" | "templateName";

function name(record: SandboxRecord, field: NameField): string {
  const value = storable(record[field] ?? "");
  if (value.length > maxNameLength) throw invalid(record, field, `must have at most ${maxNameLength} characters`);
  return value;
}

function time(record: SandboxRecord, field: string, value: string): string {
  const normal = normalTime(value);
  if (normal === undefined) throw invalid(record, field, `must be a time such as 2026-01-31T12:00:00.000Z, not "${storable(value)}"`);
  return normal;
}

/** Programs write what they like into termination messages. PostgreSQL takes neither NUL nor half a surrogate pair. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

function storableText(text: string | undefined): string | undefined {
  return text === undefined ? undefined : storable(text);
}

export function storableTexts(texts: Texts): Texts {
  return Object.fromEntries(Object.entries(texts).map(([key, value]) => [storable(key), storable(value)]));
}

function invalid(record: SandboxRecord, field: string, rule: string): HistoryError {
  return new HistoryError("invalid", `the record of sandbox ${JSON.stringify(record.sandboxId)} cannot be stored: ${field} ${rule}`);
}
