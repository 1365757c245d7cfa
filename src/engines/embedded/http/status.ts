/** Kubernetes Status bodies: what an API server answers when there is no object to answer with. */
import { ApiError, type StatusCause } from "#kube/api-error.ts";
import type { ObjectMeta } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";

export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: Readonly<Record<string, never>>;
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code?: number;
}

interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

export function failureStatus(error: ApiError): Status {
  const details = failureDetails(error);
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: error.message,
    ...wireReason(error),
    ...(Object.keys(details).length > 0 && { details }),
    code: error.code,
  };
}

/** The answer to a delete that left nothing behind. */
export function deletedStatus(type: ResourceType, metadata: ObjectMeta): Status {
  const details: StatusDetails = {
    ...(metadata.name !== undefined && { name: metadata.name }),
    ...(type.group !== "" && { group: type.group }),
    kind: type.plural,
    ...(metadata.uid !== undefined && { uid: metadata.uid }),
  };
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details };
}

/** Seconds for the Retry-After header, which has no finer unit; a wait is never rounded down to none. */
export function retryAfterSeconds(error: ApiError): number | undefined {
  return error.retryAfterMs === undefined ? undefined : Math.ceil(error.retryAfterMs / 1000);
}

/** Whatever was thrown, as something that can be answered. What is not an ApiError is a defect of ours, and its text stays inside. */
export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  return new ApiError("InternalError", "an error on the server has prevented the request from succeeding", { cause: thrown });
}

function failureDetails(error: ApiError): StatusDetails {
  const { name, group, kind, uid } = error.details;
  const seconds = retryAfterSeconds(error);
  return {
    ...(name !== undefined && name !== "" && { name }),
    ...(group !== undefined && group !== "" && { group }),
    ...(kind !== undefined && kind !== "" && { kind }),
    ...(uid !== undefined && uid !== "" && { uid }),
    ...(error.causes.length > 0 && { causes: error.causes }),
    ...(seconds !== undefined && { retryAfterSeconds: seconds }),
  };
}

/** Two of our reasons are not the API's own. */
function wireReason(error: ApiError): { reason?: string } {
  if (error.reason === "Unknown") return {};
  if (error.reason === "Unreachable") return { reason: "ServiceUnavailable" };
  return { reason: error.reason };
}
