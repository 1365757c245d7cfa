import { ApiError, isApiError } from "#kube/api-error.ts";
import type { WriteOptions } from "#kube/object-client.ts";
import type { ApiObject, JsonObject } from "#model/meta.ts";
import { apiVersionOf } from "#model/resource.ts";
import { asObject } from "./json-tree.ts";
import type { ObjectTable } from "./object-table.ts";
import { badRequest, invalid, invalidPatch, invalidValue } from "./refusals.ts";
import { tidyMetadata } from "./server-metadata.ts";

export interface ReadOptions {
  readonly fieldValidation: WriteOptions["fieldValidation"];
  /** The body is what a patch made of an object: a fault in it is worded as the patch's. */
  readonly patched: boolean;
}

/** The object that a request's body says, as its kind knows it: checked for type, without surplus fields, with defaults. */
export function readBody(table: ObjectTable, body: JsonObject, { fieldValidation, patched }: ReadOptions): ApiObject {
  const { type } = table;
  const typed = asObject({ apiVersion: apiVersionOf(type), kind: type.kind, ...body, metadata: tidyMetadata(body["metadata"]) });
  if (typed.kind !== type.kind || typed.apiVersion !== apiVersionOf(type)) throw wrongType(table, typed, patched);
  try {
    const { object, unknownFields } = table.rules.normalize(typed);
    if (fieldValidation !== "Strict" || unknownFields.length === 0) return object;
    const unknown = unknownFields.map((field) => `unknown field ${JSON.stringify(field)}`).join(", ");
    const said = `strict decoding error: ${unknown}`;
    throw badRequest(patched ? said : `${type.kind} in version "${type.version}" cannot be handled as a ${type.kind}: ${said}`);
  } catch (error) {
    throw patched && isApiError(error, "BadRequest") ? invalidPatch(typed, error.message) : error;
  }
}

function wrongType({ type, traits }: ObjectTable, given: ApiObject, patched: boolean): ApiError {
  const wanted = apiVersionOf(type);
  const { kind = "", apiVersion = "" } = given;
  if (!traits.custom) {
    const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
    const said = `${kind} in version "${version}" cannot be handled as a ${type.kind}: it must be a ${type.kind} of ${wanted}`;
    return patched ? invalidPatch(given, said) : badRequest(said);
  }
  if (apiVersion !== wanted && !patched) {
    return badRequest(`the API version in the data (${apiVersion}) does not match the expected API version (${wanted})`);
  }
  return invalid({ ...type, kind }, given.metadata.name ?? "", [
    ...(kind === type.kind ? [] : [invalidValue("kind", JSON.stringify(kind), `must be ${type.kind}`)]),
    ...(apiVersion === wanted ? [] : [invalidValue("apiVersion", JSON.stringify(apiVersion), `must be ${wanted}`)]),
  ]);
}
