/**
 * - `unavailable`: the database does not answer; the same call may succeed later.
 * - `too-slow`: it answered that the query would take too long; a narrower one may succeed.
 * - `misconfigured`: it will not work until the configuration or the database is changed.
 * - `invalid`: the record or query of the caller is wrong.
 * - `conflict`: the id belongs to another tenant's sandbox.
 * - `closed`: the store was closed before.
 */
export type HistoryErrorCode = "unavailable" | "too-slow" | "misconfigured" | "invalid" | "conflict" | "closed";

/** What a history store throws. Never holds a password: messages name host and database, causes are the driver's own errors. */
export class HistoryError extends Error {
  override readonly name = "HistoryError";
  readonly code: HistoryErrorCode;

  constructor(code: HistoryErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
