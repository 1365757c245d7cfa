import { isTooDeep } from "#lib/json-depth.ts";
import type { ApiObject, Json, JsonObject } from "#model/meta.ts";
import { tooDeep } from "./refusals.ts";

/** Objects as plain JSON. An interface has no index signature, so TypeScript has to be told that an object is one. */
export function asJson(object: ApiObject): JsonObject {
  return object as unknown as JsonObject;
}

/** The way back. The caller knows that `metadata` is there: it came from an object, or was checked. */
export function asObject(json: JsonObject): ApiObject {
  return json as unknown as ApiObject;
}

export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isJsonArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** What the value would be after a trip over the wire: our own copy, without undefined. Refuses what is nested too deeply to be walked. */
export function copyJson<T>(value: T): T {
  if (isTooDeep(value)) throw tooDeep();
  return JSON.parse(JSON.stringify(value)) as T;
}

/** The object without some of its fields; the same object when it has none of them. */
export function without(object: JsonObject, ...keys: readonly string[]): JsonObject {
  if (!keys.some((key) => Object.hasOwn(object, key))) return object;
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}

export function equalJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (isJsonArray(a)) return isJsonArray(b) && a.length === b.length && a.every((item, i) => equalJson(item, b[i]));
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equalJson(a[key], b[key]));
}

/**
 * `next` built from as many parts of `previous` as are equal; `previous` itself when all is equal. So one walk tells
 * whether anything changed (by identity, field by field), and versions of an object share what they have in common.
 */
export function shareStructure(previous: Json | undefined, next: Json): Json {
  if (previous === next) return next;
  if (isJsonArray(next)) return isJsonArray(previous) ? shareArray(previous, next) : next;
  if (isJsonObject(next)) return isJsonObject(previous) ? shareObject(previous, next) : next;
  return next;
}

function shareArray(previous: readonly Json[], next: readonly Json[]): readonly Json[] {
  const shared = next.map((item, i) => shareStructure(previous[i], item));
  const same = shared.length === previous.length && shared.every((item, i) => item === previous[i]);
  return same ? previous : shared;
}

function shareObject(previous: JsonObject, next: JsonObject): JsonObject {
  const keys = Object.keys(next);
  const shared: Record<string, Json> = {};
  let same = keys.length === Object.keys(previous).length;
  for (const key of keys) {
    const before = Object.hasOwn(previous, key) ? previous[key] : undefined;
    const value = shareStructure(before, next[key] ?? null);
    if (value !== before) same = false;
    setOwn(shared, key, value);
  }
  return same ? previous : shared;
}

/** Plain assignment would call a setter for `__proto__`, a key that a client may well send. */
export function setOwn(target: Record<string, Json>, key: string, value: Json): void {
  if (key === "__proto__") Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}
