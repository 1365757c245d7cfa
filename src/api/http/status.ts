import type { ErrorCode } from "#model/error-codes.ts";

/** The only place that maps codes to HTTP statuses. A new code without a status does not compile. */
export const httpStatus = {
  invalid_request: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  rate_limited: 429,
  no_capacity: 429,
  queue_full: 429,
  limit_reached: 429,
  // No client reads this status, but logs and metrics must distinguish it from a failure of ours. nginx uses the same number.
  canceled: 499,
  image_unavailable: 422,
  start_failed: 502,
  hook_failed: 422,
  timeout: 504,
  unavailable: 503,
  not_implemented: 501,
  internal: 500,
} satisfies Record<ErrorCode, number>;

/** A title for each code, the same in every case. */
export const errorTitle = {
  invalid_request: "The request is not valid",
  unauthenticated: "An API key is required",
  forbidden: "Not allowed for this key",
  not_found: "Not found",
  conflict: "Conflict with the current state",
  too_large: "The request is too large",
  rate_limited: "Too many requests",
  no_capacity: "No sandbox became free in time",
  queue_full: "Too many requests wait already",
  limit_reached: "A limit is reached",
  canceled: "The client disconnected",
  image_unavailable: "The image is not available",
  start_failed: "The sandbox did not start",
  hook_failed: "A post-start hook failed",
  timeout: "Timeout",
  unavailable: "Not available now",
  not_implemented: "Not implemented",
  internal: "Internal error",
} satisfies Record<ErrorCode, string>;
