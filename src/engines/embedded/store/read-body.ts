import { isApiError } from "#kube/api-error.ts";
import type { WriteOptions } from "#kube/object-client.ts";
import type { ApiObject, JsonObject } from "#model/meta.ts";
import { asObject } from "./json-tree.ts";
import type { ObjectTable } from "./object-table.ts";
import { badRequest, invalidPatch } from "./refusals.ts";

export interface ReadOptions {
  readonly fieldValidation: WriteOptions["fieldValidation"];
  /** The body is what a patch made of an object: a fault in it is worded as the patch's. */
  readonly patched: boolean;
}

/** The object that a request's body says, as its kind knows it: checked for type, without surplus fields, with defaults. */
export function readBody({ type, rules }: ObjectTable, body: JsonObject, { fieldValidation, patched }: ReadOptions): ApiObject {
  const given = asObject({ ...body, metadata: body["metadata"] ?? {} });
  try {
    const { object, unknownFields } = rules.normalize(given);
    if (fieldValidation !== "Strict" || unknownFields.length === 0) return object;
    const unknown = unknownFields.map((field) => `unknown field ${JSON.stringify(field)}`).join(", ");
    const said = `strict decoding error: ${unknown}`;
    throw badRequest(patched ? said : `${type.kind} in version "${type.version}" cannot be handled as a ${type.kind}: ${said}`);
  } catch (error) {
    throw patched && isApiError(error, "BadRequest") ? invalidPatch(given, error.message) : error;
  }
}
