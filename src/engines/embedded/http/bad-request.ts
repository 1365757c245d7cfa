/** The complaints about a request that never reach the store. Texts and reasons are those of a kube-apiserver. */
import { ApiError } from "#kube/api-error.ts";

export function badRequest(message: string): ApiError {
  return new ApiError("BadRequest", message);
}

export function notServed(): ApiError {
  return new ApiError("NotFound", "the server could not find the requested resource");
}

export function methodNotAllowed(): ApiError {
  return new ApiError("MethodNotAllowed", "the server does not allow this method on the requested resource");
}

export function unsupportedMediaType(accepted: readonly string[]): ApiError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`;
  return new ApiError("UnsupportedMediaType", message);
}

/** A client that has seen a version which we have not has talked to another server, or to this one before its data was put back. */
export function versionTooLarge(asked: number, current: number): ApiError {
  const causes = [{ field: "", reason: "ResourceVersionTooLarge", message: "Too large resource version" }];
  const message = `Timeout: Too large resource version: ${asked}, current: ${current}`;
  return new ApiError("Timeout", message, { causes, retryAfterMs: 1000 });
}

/** An option whose value is none of those it may have. */
export function unsupportedOption(options: string, field: string, given: string, supported: readonly string[]): ApiError {
  const quoted = supported.map((value) => JSON.stringify(value)).join(", ");
  return invalidOption(options, {
    field,
    reason: "FieldValueNotSupported",
    message: `Unsupported value: ${given}: supported values: ${quoted}`,
  });
}

export function forbiddenOption(options: string, field: string, why: string): ApiError {
  return invalidOption(options, { field, reason: "FieldValueForbidden", message: `Forbidden: ${why}` });
}

function invalidOption(options: string, cause: { field: string; reason: string; message: string }): ApiError {
  const message = `${options}.meta.k8s.io "" is invalid: ${cause.field}: ${cause.message}`;
  return new ApiError("Invalid", message, { group: "meta.k8s.io", kind: options, causes: [cause] });
}
