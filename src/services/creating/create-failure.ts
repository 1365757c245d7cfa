/** A create that failed, as its caller, the log and the sandbox's record are told. */
import { failureReasons } from "#model/keys.ts";
import { isServiceError, ServiceError } from "#services/service-error.ts";

export function startFailed(why: string, cause?: unknown): ServiceError {
  return new ServiceError("start_failed", `the sandbox did not come up: ${why}`, cause === undefined ? {} : { cause });
}

/** For the record. A caller that left, or a server that ends, is no failure of the sandbox. */
export function failureOf(error: unknown): { readonly failureReason?: string; readonly failureMessage?: string } {
  if (!isServiceError(error, "start_failed", "hook_failed", "timeout")) return {};
  const { startFailed: notStarted, hookFailed, startupTimeout } = failureReasons;
  const failureMessage = ownWords(error);
  if (error.code === "hook_failed") return { failureReason: hookFailed, failureMessage };
  return { failureReason: error.code === "timeout" ? startupTimeout : notStarted, failureMessage };
}

/** For the log: a defect is needed in full; an expected error says it in its words. */
export function loggable(error: unknown): { readonly error?: unknown; readonly why?: string } {
  if (!isServiceError(error)) return { error };
  return { why: ownWords(error), ...(error.cause === undefined ? {} : { error: error.cause }) };
}

/** The output of a hook belongs to its user and may hold a secret: only our own words are written down. */
export function ownWords({ code, message }: ServiceError): string {
  return code === "hook_failed" ? (message.split(":", 1)[0] ?? "") : message;
}
