/**
 * What an API server can answer instead of an object. One class, a closed list of reasons (the API's own), so that
 * callers decide by `reason` and never by text. Both engines throw it.
 */
export type ApiErrorReason =
  | "BadRequest"
  | "Unauthorized"
  | "Forbidden"
  | "NotFound"
  | "MethodNotAllowed"
  | "NotAcceptable"
  | "AlreadyExists"
  | "Conflict"
  /** The requested history is no longer there, without a way to go on. */
  | "Gone"
  /** The resourceVersion or continue token is too old: list anew. */
  | "Expired"
  | "RequestEntityTooLarge"
  | "UnsupportedMediaType"
  | "Invalid"
  | "TooManyRequests"
  | "InternalError"
  | "ServiceUnavailable"
  | "ServerTimeout"
  | "Timeout"
  /** No answer came at all: refused, reset, or cut in the middle. The write may or may not have happened. */
  | "Unreachable"
  | "Unknown";

export const httpStatusOf = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Gone: 410,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  ServerTimeout: 500,
  Timeout: 504,
  Unreachable: 503,
  Unknown: 500,
} satisfies Record<ApiErrorReason, number>;

/** One thing that is wrong with an object: where, of which sort, and in words. */
export interface StatusCause {
  /** Path of the field, such as `spec.clusters[0].members[1].name`. */
  readonly field: string;
  /** FieldValueRequired, FieldValueInvalid, FieldValueNotSupported, FieldValueDuplicate, … */
  readonly reason: string;
  readonly message: string;
}

export interface ApiErrorDetails {
  readonly causes?: readonly StatusCause[];
  /** How long the server asks us to wait before the next try. */
  readonly retryAfterMs?: number;
  readonly group?: string;
  /** In a Status this is the plural for most reasons, and the kind for Invalid. */
  readonly kind?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly cause?: unknown;
  /** The HTTP code when it differs from the reason's usual one. */
  readonly code?: number;
}

export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly reason: ApiErrorReason;
  readonly code: number;
  readonly causes: readonly StatusCause[];
  readonly retryAfterMs: number | undefined;
  readonly details: ApiErrorDetails;

  constructor(reason: ApiErrorReason, message: string, details: ApiErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.reason = reason;
    this.code = details.code ?? httpStatusOf[reason];
    this.causes = details.causes ?? [];
    this.retryAfterMs = details.retryAfterMs;
    this.details = details;
  }
}

/** True when `error` is an ApiError of one of these reasons. */
export function isApiError(error: unknown, ...reasons: readonly ApiErrorReason[]): error is ApiError {
  return error instanceof ApiError && (reasons.length === 0 || reasons.includes(error.reason));
}

/** What a read resolves with; undefined where the object does not exist. */
export async function ifFound<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isApiError(error, "NotFound")) return undefined;
    throw error;
  }
}
