/**
 * What was applied last, kept on the object itself in the annotation that kubectl uses: a field that was applied before and is not in the
 * file any more is to be removed; one that somebody else has set is not. Files may be applied with kubectl and with us in turn.
 */
import type { ApiObject, JsonObject } from "#model/meta.ts";
import { goJson } from "../print/go-json.ts";

export const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/** The object with itself in the annotation. */
export function withLastApplied(object: ApiObject): ApiObject {
  const { [lastAppliedAnnotation]: _old, ...annotations } = object.metadata.annotations ?? {};
  const bare = { ...object, metadata: { ...object.metadata, annotations } };
  const applied = `${goJson(bare)}\n`;
  return { ...bare, metadata: { ...bare.metadata, annotations: { ...annotations, [lastAppliedAnnotation]: applied } } };
}

/** What the object was made from; undefined when it was not applied, or when what is noted there is no object. */
export function lastAppliedTo(current: ApiObject): JsonObject | undefined {
  const text = current.metadata.annotations?.[lastAppliedAnnotation];
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/** What a file sets to null it wants absent; a create has no other way to say so. */
export function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutNulls) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, entry]) => entry !== null);
  return Object.fromEntries(entries.map(([key, entry]) => [key, withoutNulls<unknown>(entry)])) as T;
}
