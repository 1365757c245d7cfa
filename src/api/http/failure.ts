/**
 * One form for everything that can go wrong with a request; each API presents it in its own shape. Services report errors as ServiceError, Fastify with
 * its own codes. Everything else is a defect, and its details are kept from callers.
 */
import type { FastifyError } from "fastify";
import type { ErrorCode, ErrorDetails } from "#model/error-codes.ts";
import { isServiceError } from "#services/service-error.ts";
import { httpStatus } from "./status.ts";

export interface Failure {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: ErrorDetails;
  /** Allowed methods, for 405. */
  readonly allow?: readonly string[];
  /** True for a fault of the server, which an operator must look up in the log. */
  readonly defect: boolean;
}

export function failureOf(error: unknown): Failure {
  if (isServiceError(error)) {
    return {
      status: httpStatus[error.code],
      code: error.code,
      message: error.message,
      details: error.details,
      defect: error.code === "internal",
    };
  }
  return (error instanceof Error && ofFastify(error as FastifyError)) || internal;
}

const internal: Failure = {
  status: httpStatus.internal,
  code: "internal",
  message: "internal error; the server's log has the reason under this request id",
  details: {},
  defect: true,
};

export function badRequest(message: string, more: Partial<Failure> = {}): Failure {
  return { status: httpStatus.invalid_request, code: "invalid_request", message, details: {}, defect: false, ...more };
}

function ofFastify(error: FastifyError): Failure | undefined {
  if (error.validation !== undefined) return ofValidation(error);
  if (error.code === "FST_ERR_CTP_BODY_TOO_LARGE") {
    return badRequest("the body is larger than this server takes", { status: httpStatus.too_large, code: "too_large" });
  }
  if (error.code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") {
    return badRequest("the body must be JSON: Content-Type: application/json", { status: 415, details: { field: "header.content-type" } });
  }
  if (error.code === "FST_ERR_BAD_URL") return badRequest("the path contains an invalid %-escape", { details: { field: "path" } });
  // What is left below 500 is about the request (broken JSON, wrong lengths, bad escapes in the path), with a text that reveals nothing internal.
  const status = error.statusCode ?? 500;
  return status >= 400 && status < 500 ? badRequest(error.message, { status, details: { field: "body" } }) : undefined;
}

/** The first complaint of ajv, with the path of the wrong field. */
function ofValidation(error: FastifyError): Failure {
  const [first] = error.validation ?? [];
  if (first === undefined) return badRequest(error.message);
  const inside = first.instancePath.split("/").filter((part) => part !== "");
  const named = first.params["missingProperty"] ?? first.params["additionalProperty"];
  const path = [...inside, ...(typeof named === "string" ? [named] : [])];
  const where =
    error.validationContext === "body" || error.validationContext === undefined ? path : [placeOf(error.validationContext), ...path];
  const field = where.length === 0 ? "body" : fieldPath(where);
  return badRequest(`${field}: ${complaint(first.keyword, first.message, first.params)}`, { details: { field } });
}

/** Writes the path as our kinds do: `spec.clusters[0].members[1].name`. */
export function fieldPath(parts: readonly string[]): string {
  return parts.reduce(
    (path, part) => (/^\d+$/.test(part) && path !== "" ? `${path}[${part}]` : `${path}${path === "" ? "" : "."}${part || '""'}`),
    "",
  );
}

function placeOf(context: string): string {
  return ({ querystring: "query", params: "path", headers: "header" } as Readonly<Record<string, string>>)[context] ?? context;
}

function complaint(keyword: string, message: string | undefined, params: Readonly<Record<string, unknown>>): string {
  if (keyword === "required") return "is required";
  if (keyword === "additionalProperties") return "is not known here";
  if (keyword === "enum") return `must be one of ${(params["allowedValues"] as readonly unknown[]).join(", ")}`;
  return message ?? "is not valid";
}
