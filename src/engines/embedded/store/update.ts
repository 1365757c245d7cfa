import type { ObjectKey, Patch, SubresourceOptions } from "#kube/object-client.ts";
import { isTooDeep } from "#lib/json-depth.ts";
import type { ApiObject, Json, JsonObject } from "#model/meta.ts";
import { createObject } from "./create.ts";
import { applyJsonPatch, JsonPatchError } from "./json-patch.ts";
import { asJson, asObject, copyJson, isJsonObject, without } from "./json-tree.ts";
import { storeKey } from "./keys.ts";
import { applyMergePatch } from "./merge-patch.ts";
import type { ObjectTable } from "./object-table.ts";
import { readBody } from "./read-body.ts";
import { badRequest, noSuchResource, notFound, otherUid, tooDeep, unappliablePatch } from "./refusals.ts";
import { replaceObject } from "./replace.ts";
import type { StoreState } from "./store-state.ts";

export function updateObject(state: StoreState, table: ObjectTable, object: ApiObject, options: SubresourceOptions): ApiObject {
  checkSubresource(table, options);
  const body = asJson(copyJson(object));
  const wanted = readBody(table, body, { fieldValidation: options.fieldValidation, patched: false });
  const { name, namespace, uid } = wanted.metadata;
  if (name === undefined) throw badRequest("name must be provided");
  const key = storeKey(table.type, { namespace, name });
  const current = table.get(key);
  const creates = current === undefined && table.traits.createOnUpdate && options.subresource === undefined;
  if (current === undefined && !creates) throw notFound(table.type, name);
  checkUid(table, key, uid, current);
  if (current === undefined) return createObject(state, table, asObject(withoutVersion(body)), options);
  return replaceObject(state, table, { key, current, wanted, subresource: options.subresource ?? "main", dryRun: options.dryRun === true });
}

export interface PatchRequest {
  readonly at: ObjectKey;
  readonly patch: Patch;
}

export function patchObject(state: StoreState, table: ObjectTable, { at, patch }: PatchRequest, options: SubresourceOptions): ApiObject {
  checkSubresource(table, options);
  const key = storeKey(table.type, at);
  const current = table.get(key);
  if (current === undefined) throw notFound(table.type, at.name);
  const wanted = readBody(table, applyPatch(asJson(current), patch), { fieldValidation: options.fieldValidation, patched: true });
  checkPlace(wanted, current);
  return replaceObject(state, table, { key, current, wanted, subresource: options.subresource ?? "main", dryRun: options.dryRun === true });
}

/** The document that the patch makes of this one, which is left as it is. */
export function applyPatch(document: JsonObject, patch: Patch): JsonObject {
  const patched = patch.type === "merge" ? applyMergePatch(document, copyJson(patch.body)) : jsonPatched(document, patch);
  if (!isJsonObject(patched)) throw unappliablePatch(new JsonPatchError("the result is not an object"));
  // Each operation may put what it adds or copies below what the last one did.
  if (isTooDeep(patched)) throw tooDeep();
  return patched;
}

function jsonPatched(document: JsonObject, patch: Extract<Patch, { type: "json" }>): Json {
  try {
    return applyJsonPatch(document, copyJson(patch.operations));
  } catch (error) {
    throw error instanceof JsonPatchError ? unappliablePatch(error) : error;
  }
}

/** An update that names another uid means another object of the same name: one that is gone, or never was. */
export function checkUid(table: ObjectTable, key: string, given: string | undefined, current: ApiObject | undefined): void {
  const actual = current?.metadata.uid ?? "";
  if (given !== undefined && given !== actual) throw otherUid(table.type, key, { given, actual }, table.traits.custom);
}

/** A patch cannot move an object. */
export function checkPlace(wanted: ApiObject, current: ApiObject): void {
  const { name, namespace } = current.metadata;
  if (wanted.metadata.name === undefined)
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  if (wanted.metadata.name !== name)
    throw badRequest(`the name of the object (${wanted.metadata.name}) does not match the name on the URL (${name})`);
  if (wanted.metadata.namespace !== undefined && wanted.metadata.namespace !== namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
}

function checkSubresource({ type }: ObjectTable, { subresource }: SubresourceOptions): void {
  if (subresource === "status" && !type.statusSubresource) throw noSuchResource();
}

function withoutVersion(body: JsonObject): JsonObject {
  const metadata = body["metadata"];
  return isJsonObject(metadata) ? { ...body, metadata: without(metadata, "resourceVersion") } : body;
}
