/** Commands that could not be started, as callers are told. */
import { CommandNotStarted } from "#kube/pod-access.ts";
import { ServiceError } from "#services/service-error.ts";

/** How a shell would have ended, and why. */
export interface NotStarted {
  readonly exitCode: 126 | 127;
  readonly reason: string;
}

/** Undefined where the program is not what is wrong. */
export function shellExit(error: unknown): NotStarted | undefined {
  if (!(error instanceof CommandNotStarted)) return undefined;
  if (error.fault === "not-found") return { exitCode: 127, reason: error.message };
  return error.fault === "not-executable" ? { exitCode: 126, reason: error.message } : undefined;
}

export function notStartedError(error: CommandNotStarted): ServiceError {
  const { fault, message } = error;
  if (fault === "other") return new ServiceError("unavailable", message, { retryAfterSeconds: 1, cause: error });
  const field = fault === "user" || fault === "workingDir" ? fault : "command";
  return new ServiceError("invalid_request", message, { field, cause: error });
}
