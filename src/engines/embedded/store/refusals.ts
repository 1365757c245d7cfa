/** The store's refusals, in the words of a Kubernetes API server: clients and people know them. */
import { ApiError, type ApiErrorDetails, type StatusCause } from "#kube/api-error.ts";
import { maxJsonDepth } from "#lib/json-depth.ts";
import { type ResourceType, resourceName } from "#model/resource.ts";

export function notFound(type: ResourceType, name: string): ApiError {
  return new ApiError("NotFound", `${resourceName(type)} "${name}" not found`, detailsOf(type, name));
}

/** For a kind or a subresource that is not served. */
export function noSuchResource(): ApiError {
  return new ApiError("NotFound", "the server could not find the requested resource");
}

export function alreadyExists(
  type: ResourceType,
  name: string,
  how: { readonly generated: boolean; readonly terminating: boolean },
): ApiError {
  const said = `${resourceName(type)} "${name}" already exists`;
  if (how.generated) {
    const message = `${said}, the server was not able to generate a unique name for the object`;
    return new ApiError("AlreadyExists", message, { ...detailsOf(type, name), retryAfterMs: 1000 });
  }
  return new ApiError("AlreadyExists", how.terminating ? `object is being deleted: ${said}` : said, detailsOf(type, name));
}

export function modified(type: ResourceType, name: string): ApiError {
  return conflict(type, name, "the object has been modified; please apply your changes to the latest version and try again");
}

export function conflict(type: ResourceType, name: string, what: string): ApiError {
  return new ApiError("Conflict", `Operation cannot be fulfilled on ${resourceName(type)} "${name}": ${what}`, detailsOf(type, name));
}

/** A write that carried the uid of another object of the same name. The server shows where it keeps the object. */
export function otherUid(
  type: ResourceType,
  key: string,
  uids: { readonly given: string; readonly actual: string },
  storedByGroup: boolean,
): ApiError {
  const path = `/registry/${storedByGroup ? `${type.group}/` : ""}${type.plural}/${key}`;
  const what = `Precondition failed: UID in precondition: ${uids.given}, UID in object meta: ${uids.actual}`;
  return conflict(
    type,
    key.slice(key.indexOf("/") + 1),
    `StorageError: invalid object, Code: 4, Key: ${path}, ResourceVersion: 0, AdditionalErrorMsg: ${what}`,
  );
}

/** A precondition of a delete that does not hold. Here, unlike elsewhere, the server names the kind. */
export function deletePrecondition(type: ResourceType, name: string, what: string): ApiError {
  const kind = qualifiedKind(type);
  return new ApiError("Conflict", `Operation cannot be fulfilled on ${kind} "${name}": ${what}`, {
    ...detailsOf(type, name),
    kind: type.kind,
  });
}

/** Everything that is wrong with an object. Several causes come in brackets; one that was found twice counts once. */
export function invalid(type: ResourceType, name: string, causes: readonly StatusCause[]): ApiError {
  return invalidAs(qualifiedKind(type), causes, { ...detailsOf(type, name), kind: type.kind });
}

/** A custom kind's object (or a lease) may only be updated with the version that the update is based on. */
export function versionMissing(type: ResourceType, name: string): ApiError {
  const cause = invalidValue("metadata.resourceVersion", "0", "must be specified for an update");
  return invalidAs(resourceName(type), [cause], detailsOf(type, name));
}

/** A patch whose result is no acceptable document. The server shows the result. */
export function invalidPatch(result: unknown, what: string): ApiError {
  return invalidAs("", [invalidValue("patch", JSON.stringify(JSON.stringify(result)), what)], {});
}

/** A JSON patch that cannot be applied. A real server does not say why; we do. */
export function unappliablePatch(cause: Error): ApiError {
  return new ApiError("Invalid", `the server rejected our request due to an error in our request: ${cause.message}`, { cause });
}

export function forbidden(type: ResourceType, name: string, what: string, causes: readonly StatusCause[] = []): ApiError {
  return new ApiError("Forbidden", `${resourceName(type)} "${name}" is forbidden: ${what}`, { ...detailsOf(type, name), causes });
}

export function badRequest(message: string): ApiError {
  return new ApiError("BadRequest", message);
}

export function tooDeep(): ApiError {
  return badRequest(`the object is nested more than ${maxJsonDepth} levels deep, which is the most that is taken`);
}

/** The server answers some mistakes of the caller with its code 500 and no reason at all. */
export function unnamedFailure(message: string): ApiError {
  return new ApiError("InternalError", message);
}

export function tooOldVersion(asked: number, oldest: number): ApiError {
  return new ApiError("Expired", `too old resource version: ${asked} (${oldest})`);
}

function invalidValue(field: string, value: string, what: string): StatusCause {
  return { field, reason: "FieldValueInvalid", message: `Invalid value: ${value}: ${what}` };
}

function invalidAs(subject: string, causes: readonly StatusCause[], details: ApiErrorDetails): ApiError {
  const distinct = [...new Map(causes.map((cause) => [`${cause.field}: ${cause.message}`, cause])).entries()];
  const said = distinct.map(([text]) => text).join(", ");
  const message = `${subject} "${details.name ?? ""}" is invalid: ${distinct.length === 1 ? said : `[${said}]`}`;
  return new ApiError("Invalid", message, { ...details, causes: distinct.map(([, cause]) => cause) });
}

function detailsOf(type: ResourceType, name: string): { readonly group?: string; readonly kind: string; readonly name: string } {
  return { ...(type.group === "" ? {} : { group: type.group }), kind: type.plural, name };
}

function qualifiedKind(type: ResourceType): string {
  return type.group === "" ? type.kind : `${type.kind}.${type.group}`;
}
