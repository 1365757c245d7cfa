/**
 * Everything that can go wrong for a caller, as one closed list: APIs give each code its status, clients decide by it and never by
 * text. What a code carries beside its message is in `ErrorDetails`.
 */
export const errorCodes = [
  /** Something in the request is wrong; `field` says where. */
  "invalid_request",
  /** No key, or an unknown one. */
  "unauthenticated",
  /** The key is good, but not for this. */
  "forbidden",
  /** There is no such thing, or it belongs to another tenant. */
  "not_found",
  /** It is not in a state for this, or changed meanwhile. */
  "conflict",
  "too_large",
  /** This key, or all keys of its team together, ask too often. */
  "rate_limited",
  /** No pod became free in time. */
  "no_capacity",
  /** So many wait already that there is no use in waiting. */
  "queue_full",
  /** A limit of the team or of the server is reached; the message names it. */
  "limit_reached",
  /** The caller went away before there was an answer. */
  "canceled",
  /** The image cannot be had: no such image, no access, or a registry that does not answer. */
  "image_unavailable",
  /** The sandbox did not come up. */
  "start_failed",
  /** A post-start hook failed; its output is in the message. */
  "hook_failed",
  "timeout",
  "unavailable",
  "not_implemented",
  "internal",
] as const;

export type ErrorCode = (typeof errorCodes)[number];

export interface ErrorDetails {
  /** Path of what is wrong in the request, such as `metadata.team` or `query.limit`. */
  readonly field?: string;
  /** Whole seconds after which trying again makes sense. */
  readonly retryAfterSeconds?: number;
  /** What there is instead, such as the pools that could have been meant. */
  readonly available?: readonly string[];
  /** Which limit is reached. */
  readonly limit?: ReachedLimit;
  /** How the pool stood when there was no pod to be had. */
  readonly pool?: PoolStanding;
  /** What is the matter with the idempotency key: used for another request, or for one that is under way. */
  readonly idempotency?: "mismatch" | "in_progress";
  /** The Env that was asked for a pod: then `pool` is the sum of its pools. */
  readonly env?: string;
}

export interface ReachedLimit {
  /** One of the names that GET /v1/limits has. */
  readonly name: string;
  readonly of: "user" | "team" | "server";
  /** The team or user that the limit is of, if it is not the server's. */
  readonly team?: string;
  readonly user?: string;
  readonly limit: number;
  /** How much of it is used; left out when that is the business of others. */
  readonly used?: number;
}

export interface PoolStanding {
  readonly idle: number;
  readonly starting: number;
  readonly running: number;
  readonly stopping: number;
  readonly waiting: number;
}
