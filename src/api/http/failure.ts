/**
 * What went wrong with a request, in the form that every API of ours presents in its own shape: services say it with ServiceError,
 * Fastify with its error codes, and everything else is a defect that callers are told nothing about.
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
  /** Methods that there are, for 405. */
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
  message: "something went wrong inside AgentBox; its log has the reason under this request id",
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
  if (error.code === "FST_ERR_BAD_URL") return badRequest("the path has escapes that are none", { details: { field: "path" } });
  // What is left below 500 is about the request (broken JSON, wrong lengths, bad escapes in the path), in words that tell nothing of ours.
  const status = error.statusCode ?? 500;
  return status >= 400 && status < 500 ? badRequest(error.message, { status, details: { field: "body" } }) : undefined;
}

/** The first of ajv's complaints, with the path of what is wrong. */
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

/** As objects' own rules name fields: `spec.clusters[0].members[1].name`. */
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
