import type { ErrorCode } from "#model/error-codes.ts";

/** The one place where codes become HTTP. A new code without a status does not compile. */
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
  // No client reads it, but logs and metrics must distinguish it from a failure of ours. The code is known from nginx.
  canceled: 499,
  image_unavailable: 422,
  start_failed: 502,
  hook_failed: 422,
  timeout: 504,
  unavailable: 503,
  not_implemented: 501,
  internal: 500,
} satisfies Record<ErrorCode, number>;

/** What a code is called for people, whatever the case. */
export const errorTitle = {
  invalid_request: "The request is not valid",
  unauthenticated: "An API key is needed",
  forbidden: "This key may not do this",
  not_found: "There is no such thing",
  conflict: "Not in a state for this",
  too_large: "The request is too large",
  rate_limited: "Too many requests",
  no_capacity: "No sandbox became free in time",
  queue_full: "Too many requests wait already",
  limit_reached: "A limit is reached",
  canceled: "The caller went away",
  image_unavailable: "The image cannot be had",
  start_failed: "The sandbox did not come up",
  hook_failed: "A post-start hook failed",
  timeout: "It took too long",
  unavailable: "Not available now",
  not_implemented: "There is no such function yet",
  internal: "Something is wrong inside AgentBox",
} satisfies Record<ErrorCode, string>;
