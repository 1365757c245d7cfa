/** What a failure of the driver or the server means to us: worth another try or not, and in words that help. */
import { HistoryError } from "../history-error.ts";

/** Nothing was answered, or the server says that it cannot just now. All our statements may be repeated, so these are. */
const passing = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOENT", // a unix socket that is not there yet
  "ENOTFOUND",
  "EAI_AGAIN",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "53300", // too many connections
  "57P01", // shut down by an administrator
  "57P02", // shut down by a crash
  "57P03", // starting up
  "57P05", // idle session timeout
  "40001", // serialization failure
  "40P01", // deadlock
  "25006", // read-only: a standby that is about to be promoted, or a primary that was demoted
]);

/** The driver's own failures have no code. */
const passingText =
  /connection terminated|timeout exceeded when trying to connect|query read timeout|client has encountered a connection error/i;

export function isPassing(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isPassing);
  const code = codeOf(error);
  if (code !== undefined) return passing.has(code) || code.startsWith("08");
  return error instanceof Error && passingText.test(error.message);
}

/** A HistoryError for whatever came out of the driver. `where` names host and database. */
export function explainFailure(error: unknown, where: string): HistoryError {
  if (error instanceof HistoryError) return error;
  const [code, text] = isPassing(error)
    ? (["unavailable", `${where} does not answer: ${messageOf(error)}`] as const)
    : refusal(error, where);
  return new HistoryError(code, text, { cause: error });
}

function refusal(error: unknown, where: string): readonly ["misconfigured" | "too-slow" | "unavailable", string] {
  const message = messageOf(error);
  switch (codeOf(error)) {
    case "28P01":
      return ["misconfigured", `${where} refuses user or password: check both in DATABASE_URL`];
    case "28000":
      return ["misconfigured", `${where} does not let us in (${message}): if it asks for encryption, add ?sslmode=require to DATABASE_URL`];
    case "3D000":
      return ["misconfigured", `${where} does not exist: create the database, or name another in DATABASE_URL`];
    case "42501":
      return ["misconfigured", `${where} does not let its user do this (${message}): it needs to create tables in its schema`];
    case "57014":
      return [
        "too-slow",
        `${where} ended a statement that took too long: ask for less, such as a shorter time, or look for what holds it up`,
      ];
    case undefined:
    default:
      return /SCRAM|password must be a string/i.test(message)
        ? ["misconfigured", `${where} asks for a password, and DATABASE_URL has none`]
        : /SSL|certificate/i.test(message)
          ? ["misconfigured", `${where} cannot be reached with encryption (${message}): check sslmode and sslrootcert in DATABASE_URL`]
          : ["unavailable", `${where} failed: ${message}`];
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

function messageOf(error: unknown): string {
  // Trying several addresses of a host fails with one error for each, and no message of its own.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
