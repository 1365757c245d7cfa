/** What a failure of SQLite means to us, in words that help. */
import { sqliteCode } from "#lib/sqlite-space.ts";
import { HistoryError } from "../history-error.ts";

/** SQLITE_BUSY: another process has the lock. */
const busy = 5;

/** Every failure of SQLite, or of opening its file, as a HistoryError; others as they are. */
export function explainFailure(file: string, error: unknown): unknown {
  const failure = (code: "unavailable" | "misconfigured", message: string) => new HistoryError(code, message, { cause: error });
  if (error instanceof Error && "code" in error && /^E[A-Z]+$/.test(String(error.code))) {
    return failure("misconfigured", `${file} cannot be opened (${String(error.code)}): its folder must exist and be writable`);
  }
  switch (sqliteCode(error)) {
    case undefined:
      return error;
    case busy:
      return failure("unavailable", `${file} is kept busy by another process`);
    case 8: // SQLITE_READONLY
      return failure("misconfigured", `${file} cannot be written: it and its folder must be writable`);
    case 11: // SQLITE_CORRUPT
    case 26: // SQLITE_NOTADB
      return failure("misconfigured", `${file} is damaged or not a history of AgentBox: restore it from a backup or move it away`);
    case 13: // SQLITE_FULL
      return failure("unavailable", `there is no room left for ${file}: free some, or give it another place`);
    case 14: // SQLITE_CANTOPEN
      return failure("misconfigured", `${file} cannot be opened: its folder must exist and be writable`);
    default:
      return failure("unavailable", `${file} cannot be used: ${error instanceof Error ? error.message : String(error)}`);
  }
}

export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === busy;
}
