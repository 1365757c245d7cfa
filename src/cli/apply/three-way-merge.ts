/**
 * The change that makes an object match a file: fields in the file are set, fields that the last file had and this one has not are removed, and fields of
 * other writers are kept. The result is a JSON merge patch, empty if nothing changes.
 */
import { isDeepStrictEqual } from "node:util";
import type { Json, JsonObject } from "#model/meta.ts";
import { withoutNulls } from "./last-applied.ts";
import type { ListKeys } from "./list-keys.ts";

export interface ThreeWay {
  /** The last applied configuration; empty if there was none. */
  readonly original: JsonObject;
  /** The content of the file. */
  readonly modified: JsonObject;
  /** The object on the server. */
  readonly current: JsonObject;
  readonly listKeys?: ListKeys | undefined;
}

export function threeWayMergePatch({ original, modified, current, listKeys }: ThreeWay): JsonObject {
  return mapPatch({ original, modified, current }, { path: "", listKeys: listKeys ?? new Map() });
}

interface Trio {
  readonly original: JsonObject;
  readonly modified: JsonObject;
  readonly current: JsonObject;
}

interface Where {
  readonly path: string;
  readonly listKeys: ListKeys;
}

function mapPatch({ original, modified, current }: Trio, where: Where): JsonObject {
  const patch: Record<string, Json> = {};
  for (const [key, value] of Object.entries(modified)) {
    const change = valuePatch([original[key], value, current[key]], below(where, key));
    if (change !== undefined) patch[key] = change;
  }
  for (const key of Object.keys(original)) {
    if (!(key in modified) && current[key] !== undefined) patch[key] = null;
  }
  return patch;
}

/** Undefined if this field needs no change. */
function valuePatch([original, modified, current]: readonly [Json | undefined, Json, Json | undefined], where: Where): Json | undefined {
  // A null removes a field once. Applied again it does nothing: the server may have filled in its default since.
  if (modified === null) return original === null || current === undefined ? undefined : null;
  if (isMap(modified) && isMap(current)) {
    const patch = mapPatch({ original: isMap(original) ? original : {}, modified, current }, where);
    return Object.keys(patch).length === 0 ? undefined : patch;
  }
  const wanted = wantedValue([original, modified, current], where);
  return current !== undefined && isDeepStrictEqual(wanted, current) ? undefined : withoutNulls(wanted);
}

/** The value from the file; lists whose items have an identity are merged with the server's. */
function wantedValue([original, modified, current]: readonly [Json | undefined, Json, Json | undefined], where: Where): Json {
  const key = where.listKeys.get(where.path);
  if (key === undefined || !isList(modified) || !isList(current)) return modified;
  const applied = isList(original) ? original : [];
  const find = (list: readonly Json[], item: Json): Json | undefined => list.find((other) => identity(other, key) === identity(item, key));
  const dropped = (item: Json): boolean => find(modified, item) === undefined && find(applied, item) !== undefined;
  const kept = current.filter((item) => !dropped(item)).map((item) => mergedItem([find(applied, item), find(modified, item), item], where));
  const added = modified.filter((item) => find(current, item) === undefined);
  return [...kept, ...added];
}

function mergedItem([original, modified, current]: readonly [Json | undefined, Json | undefined, Json], where: Where): Json {
  if (!isMap(modified) || !isMap(current)) return current;
  return applyMergePatch(current, mapPatch({ original: isMap(original) ? original : {}, modified, current }, where));
}

function applyMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isMap(patch)) return patch;
  const result: Record<string, Json> = isMap(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = applyMergePatch(result[key], value);
  }
  return result;
}

function identity(item: Json, key: string): Json | undefined {
  return key === "" || !isMap(item) ? item : item[key];
}

function below(where: Where, key: string): Where {
  return { path: where.path === "" ? key : `${where.path}.${key}`, listKeys: where.listKeys };
}

function isMap(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
