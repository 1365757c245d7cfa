import type { ErrorCode, ErrorDetails } from "#model/error-codes.ts";

/** What a use case answers instead of a result. The only error that callers are shown as it is; everything else is `internal`. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, { cause, ...details }: ErrorDetails & { readonly cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.details = details;
  }
}

export function isServiceError(error: unknown, ...codes: readonly ErrorCode[]): error is ServiceError {
  return error instanceof ServiceError && (codes.length === 0 || codes.includes(error.code));
}
