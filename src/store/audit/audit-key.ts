/** Where an entry stands in the log: newest first, ids from high to low within one millisecond. Neither part ever changes. */
import { HistoryError } from "../history-error.ts";
import { normalTime } from "../record-key.ts";

export interface AuditKey {
  readonly at: string;
  readonly id: string;
}

const idForm = /^[\x21-\x7e]{1,64}$/;

export function isAuditId(text: string): boolean {
  return idForm.test(text);
}

export function auditKeyOf({ at, id }: AuditKey): AuditKey {
  return { at, id };
}

/** Opaque text for clients. It names a place, not a right. */
export function encodeAuditCursor({ at, id }: AuditKey): string {
  return Buffer.from(`${at}_${id}`).toString("base64url");
}

/** Throws HistoryError `invalid` for anything that encodeAuditCursor did not make. */
export function decodeAuditCursor(cursor: string): AuditKey {
  const text = Buffer.from(cursor, "base64url").toString();
  const cut = text.indexOf("_");
  const key = { at: text.slice(0, cut), id: text.slice(cut + 1) };
  if (normalTime(key.at) !== key.at || !isAuditId(key.id) || encodeAuditCursor(key) !== cursor) {
    throw new HistoryError("invalid", "the cursor is not one that a list gave out: pass it on unchanged, or leave it out to begin anew");
  }
  return key;
}
