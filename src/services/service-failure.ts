/** Translates failures of lower layers into errors of use cases. Unexpected errors pass unchanged and are shown to callers as `internal`. */
import { type ApiError, type ApiErrorReason, isApiError } from "#kube/api-error.ts";
import { CommandNotStarted, PodAccessError } from "#kube/pod-access.ts";
import { HistoryError } from "#store/history-error.ts";
import { notStartedError } from "./inside/not-started.ts";
import { ServiceError } from "./service-error.ts";

export function asServiceError(error: unknown): unknown {
  if (error instanceof HistoryError) return ofHistory(error);
  if (error instanceof PodAccessError) return new ServiceError("conflict", error.message, { cause: error });
  if (error instanceof CommandNotStarted) return notStartedError(error);
  return isApiError(error) ? ofApi(error) : error;
}

/** The result, or its failure as a use case says it. */
export async function translated<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw asServiceError(error);
  }
}

function ofHistory(error: HistoryError): unknown {
  if (error.code === "invalid") return new ServiceError("invalid_request", error.message, { cause: error });
  if (error.code === "too-slow") {
    return new ServiceError("timeout", "the history took too long to answer; ask for less, such as a shorter time", { cause: error });
  }
  if (error.code === "unavailable" || error.code === "closed") {
    return new ServiceError("unavailable", "the history of sandboxes does not answer now", { retryAfterSeconds: 5, cause: error });
  }
  return error;
}

const noAnswer: ReadonlySet<ApiErrorReason> = new Set(["Unreachable", "ServiceUnavailable", "ServerTimeout", "Timeout", "TooManyRequests"]);

function ofApi(error: ApiError): unknown {
  const { reason, message } = error;
  if (noAnswer.has(reason)) {
    const retryAfterSeconds = Math.max(1, Math.ceil((error.retryAfterMs ?? 1000) / 1000));
    return new ServiceError("unavailable", "the object server does not answer now", { retryAfterSeconds, cause: error });
  }
  if (reason === "Conflict" || reason === "AlreadyExists") return new ServiceError("conflict", message, { cause: error });
  if (reason === "RequestEntityTooLarge") return new ServiceError("too_large", message, { cause: error });
  return reason === "Invalid" || reason === "BadRequest" ? ofInvalid(error) : error;
}

const unknownField = /unknown field "([^"]+)"/;

/** The first thing that is wrong, with its place; the message names them all. */
function ofInvalid(error: ApiError): ServiceError {
  const field = error.causes[0]?.field ?? unknownField.exec(error.message)?.[1];
  return new ServiceError("invalid_request", error.message, { ...(field === undefined ? {} : { field }), cause: error });
}
