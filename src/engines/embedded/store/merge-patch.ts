import type { Json, JsonObject } from "#model/meta.ts";
import { isJsonArray, isJsonObject, setOwn } from "./json-tree.ts";

/**
 * RFC 7386: the document with the patch merged in. Untouched parts of the document are shared, nothing is changed in place.
 * One difference, which API servers have too: null means "leave out" in objects inside lists as well.
 */
export function applyMergePatch(document: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return withoutNulls(patch);
  const merged: Record<string, Json> = {};
  const base: JsonObject = isJsonObject(document) ? document : {};
  for (const [key, value] of Object.entries(base)) {
    if (!Object.hasOwn(patch, key)) setOwn(merged, key, value);
    else if (patch[key] !== null) setOwn(merged, key, applyMergePatch(value, patch[key] ?? null));
  }
  for (const [key, value] of Object.entries(patch)) {
    if (value !== null && !Object.hasOwn(base, key)) setOwn(merged, key, applyMergePatch(undefined, value));
  }
  return merged;
}

function withoutNulls(value: Json): Json {
  if (isJsonArray(value)) return value.map((item) => withoutNulls(item));
  return isJsonObject(value) ? applyMergePatch(undefined, value) : value;
}
