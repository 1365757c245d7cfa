/** Failures in the words and layout of kubectl, so that people and scripts find what they know. */
import { type ApiError, isApiError, type StatusCause } from "#kube/api-error.ts";
import { CliError, ManyErrors } from "./failure.ts";

export function failureText(error: unknown): string {
  if (error instanceof ManyErrors) return error.errors.map((one) => `${oneOfMany(one)}\n`).join("");
  if (isApiError(error, "Invalid")) return `${invalidText(error)}\n`;
  if (isApiError(error)) return `${serverText(error)}\n`;
  const text = error instanceof CliError ? error.message : defectText(error);
  return text.startsWith("error: ") || error instanceof NoPrefix ? `${text}\n` : `error: ${text}\n`;
}

/** A message that stands by itself. */
export class NoPrefix extends CliError {}

/** Beside others an error has no layout of its own: one message each. */
function oneOfMany(error: unknown): string {
  if (isApiError(error)) return serverText(error);
  return error instanceof CliError ? error.message : defectText(error);
}

function serverText(error: ApiError): string {
  if (error.reason === "Unauthorized") return `error: You must be logged in to the server (${error.message})`;
  if (error.reason === "Unknown") return `Error from server: ${error.message}`;
  if (error.reason === "Unreachable") return `Unable to connect to the server: ${error.message}`;
  return `Error from server (${error.reason}): ${error.message}`;
}

function invalidText(error: ApiError): string {
  const { kind = "", name = "" } = error.details;
  const named = kind !== "" || name !== "";
  const subject = named ? `The ${kind} ${JSON.stringify(name)} is invalid` : "The request is invalid";
  const causes = [...new Set(error.causes.map((cause: StatusCause) => `${cause.field}: ${cause.message}`))];
  if (causes.length === 0) return named ? subject : `${subject}: ${error.message}`;
  if (causes.length === 1) return `${subject}: ${causes[0] ?? ""}`;
  return `${subject}: \n${causes.map((cause) => `* ${cause}`).join("\n")}`;
}

function defectText(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
