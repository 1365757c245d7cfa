/**
 * Where a record stands in every list: newest claim first, ids from high to low where two were claimed in one millisecond. Neither
 * part of the key ever changes, so a place in a list stays where it is while sandboxes come, end and are forgotten.
 */
import { HistoryError } from "./history-error.ts";

export interface RecordKey {
  readonly claimedAt: string;
  readonly sandboxId: string;
}

export function keyOf({ claimedAt, sandboxId }: RecordKey): RecordKey {
  return { claimedAt, sandboxId };
}

/** Negative when `a` comes first in a list, that is, is newer. Both texts are ASCII: their order here is that of the databases. */
export function compareKeys(a: RecordKey, b: RecordKey): number {
  if (a.claimedAt !== b.claimedAt) return a.claimedAt > b.claimedAt ? -1 : 1;
  if (a.sandboxId === b.sandboxId) return 0;
  return a.sandboxId > b.sandboxId ? -1 : 1;
}

const timeForm = /^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** Also keeps keys within what an index of either database takes. */
const idForm = /^[\x21-\x7e]{1,253}$/;
/** No id is below it. */
export const lowestId = "!";

/** The one form of a time, if the text is a time at all: UTC with milliseconds, a year of four digits. */
export function normalTime(text: string): string | undefined {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return undefined;
  const normal = new Date(ms).toISOString();
  return timeForm.test(normal) ? normal : undefined;
}

export function isSandboxId(text: string): boolean {
  return idForm.test(text);
}

/** Opaque text for clients. It names a place, not a right: the scope of the next call decides what is seen there. */
export function encodeCursor(key: RecordKey): string {
  return Buffer.from(`${key.claimedAt}_${key.sandboxId}`).toString("base64url");
}

/** Throws HistoryError `invalid` for anything that encodeCursor did not make. */
export function decodeCursor(cursor: string): RecordKey {
  const text = Buffer.from(cursor, "base64url").toString();
  const cut = text.indexOf("_");
  const key = { claimedAt: text.slice(0, cut), sandboxId: text.slice(cut + 1) };
  if (normalTime(key.claimedAt) !== key.claimedAt || !isSandboxId(key.sandboxId) || encodeCursor(key) !== cursor) {
    throw new HistoryError("invalid", "the cursor is not one that a list gave out: pass it on unchanged, or leave it out to begin anew");
  }
  return key;
}
