/**
 * Failures in E2B's form: some SDKs read the status, others read `code`, newer ones `error_code`. SDKs since 2.55 try every request again that is answered
 * with 429, 502, 503 or 504, creates included, unless the answer says whether that makes sense.
 */
import type { ErrorBody, ErrorShape } from "../http/error-shape.ts";
import type { Failure } from "../http/failure.ts";

export const e2bErrors: ErrorShape = (failure): ErrorBody => {
  const { status, message } = failure;
  const errorCode = errorCodeOf(failure);
  const shouldRetry = shouldRetryOf(failure);
  return {
    contentType: "application/json; charset=utf-8",
    body: { code: status, message, ...(errorCode === undefined ? {} : { error_code: errorCode }) },
    ...(shouldRetry === undefined ? {} : { headers: { "should-retry": String(shouldRetry) } }),
  };
};

/** E2B's own names, where there is one. */
function errorCodeOf({ code, details }: Failure): string | undefined {
  if (details.idempotency !== undefined) return `idempotency_${details.idempotency === "mismatch" ? "request_mismatch" : "in_progress"}`;
  // Others than creates have no pool to wait for.
  if (code === "timeout") return details.pool === undefined ? undefined : "sandbox_placement_timeout";
  return namesOfE2b[code];
}

const namesOfE2b: Partial<Record<Failure["code"], string>> = {
  no_capacity: "sandbox_capacity_unavailable",
  queue_full: "sandbox_capacity_unavailable",
  start_failed: "sandbox_create_failed",
  image_unavailable: "sandbox_create_refused",
  hook_failed: "sandbox_create_refused",
  internal: "internal_server_error",
};

/** A create that failed has given back what it took, so it may be tried again. Undefined: SDKs decide by the status. */
function shouldRetryOf({ code, details }: Failure): boolean | undefined {
  // The first request makes the sandbox that this one is given then.
  if (details.idempotency === "in_progress") return true;
  // A limit stays reached, unless the answer says until when.
  if (code === "limit_reached") return details.retryAfterSeconds !== undefined;
  return undefined;
}
