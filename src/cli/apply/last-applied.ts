/**
 * The last applied configuration, stored on the object in the annotation that kubectl uses. A field that was applied before and is missing in the file now
 * is removed; a field that another writer has set is kept. So kubectl and agentbox can apply files in turn.
 */
import type { ApiObject, JsonObject } from "#model/meta.ts";
import { goJson } from "../print/go-json.ts";

export const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/** The object with its own configuration in the annotation. */
export function withLastApplied(object: ApiObject): ApiObject {
  const { [lastAppliedAnnotation]: _old, ...annotations } = object.metadata.annotations ?? {};
  const bare = { ...object, metadata: { ...object.metadata, annotations } };
  const applied = `${goJson(bare)}\n`;
  return { ...bare, metadata: { ...bare.metadata, annotations: { ...annotations, [lastAppliedAnnotation]: applied } } };
}

/** The configuration that was applied last; undefined if the object was not applied, or if the annotation is invalid. */
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

/** Removes fields that the file sets to null; a create cannot express it otherwise. */
export function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutNulls) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, entry]) => entry !== null);
  return Object.fromEntries(entries.map(([key, entry]) => [key, withoutNulls<unknown>(entry)])) as T;
}
