/** How a WebSocket reports a command that failed. Pure. */
import { shellExit } from "#services/inside/not-started.ts";
import { asServiceError } from "#services/service-failure.ts";
import { failureOf } from "#api/http/failure.ts";

/** The content of a problem, without the fields that only HTTP has. */
export interface ErrorMessage {
  readonly type: "error";
  readonly code: string;
  readonly detail: string;
  readonly field?: string;
}

export type EndMessage = { readonly type: "exit"; readonly exitCode: number; readonly startError: string } | ErrorMessage;

export function endMessage(error: unknown): EndMessage {
  const notStarted = shellExit(error);
  if (notStarted !== undefined) return { type: "exit", exitCode: notStarted.exitCode, startError: notStarted.reason };
  const { code, message, details } = failureOf(asServiceError(error));
  return { type: "error", code, detail: message, ...(details.field === undefined ? {} : { field: details.field }) };
}
