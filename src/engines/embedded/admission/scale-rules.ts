/** What the scale subresource needs to find in an object: numbers of replicas that are numbers, and a selector that is a text. */
import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";
import type { Causes } from "./causes.ts";
import { isList, isRecord } from "./json.ts";

export function validateScaleSpec({ scale }: ResourceType, object: ApiObject, causes: Causes): void {
  if (scale !== undefined) validateReplicas(object, scale.specReplicasPath, causes);
}

export function validateScaleStatus({ scale }: ResourceType, object: ApiObject, causes: Causes): void {
  if (scale === undefined) return;
  validateReplicas(object, scale.statusReplicasPath, causes);
  if (scale.labelSelectorPath === undefined) return;
  const found = valueAt(object, scale.labelSelectorPath);
  if ("stranger" in found)
    causes.invalid(scale.labelSelectorPath, "", accessError(scale.labelSelectorPath, found.stranger, "map[string]interface{}"));
  else if (found.value !== undefined && typeof found.value !== "string") {
    causes.invalid(scale.labelSelectorPath, "", accessError(scale.labelSelectorPath, found.value, "string"));
  }
}

function validateReplicas(object: ApiObject, path: string, causes: Causes): void {
  const found = valueAt(object, path);
  if ("stranger" in found) causes.invalid(path, 0, accessError(path, found.stranger, "map[string]interface{}"));
  else if (found.value === undefined) return;
  else if (typeof found.value !== "number" || !Number.isInteger(found.value))
    causes.invalid(path, 0, accessError(path, found.value, "int64"));
  else if (found.value < 0) causes.invalid(path, found.value, "should be a non-negative integer");
  else if (found.value > 2 ** 31 - 1) causes.invalid(path, found.value, `should be less than or equal to ${2 ** 31 - 1}`);
}

/** Follows a path like `.spec.replicas`. A stranger on the way is a value that has nothing below it. */
function valueAt(object: ApiObject, path: string): { readonly value: unknown } | { readonly stranger: unknown } {
  let value: unknown = object;
  for (const key of path.replace(/^\./, "").split(".")) {
    if (value === undefined) return { value };
    if (!isRecord(value)) return { stranger: value };
    value = value[key];
  }
  return { value };
}

function accessError(path: string, value: unknown, wanted: string): string {
  const shown = typeof value === "string" ? value : JSON.stringify(value);
  return `${path} accessor error: ${shown} is of the type ${goType(value)}, expected ${wanted}`;
}

function goType(value: unknown): string {
  if (isRecord(value)) return "map[string]interface {}";
  if (isList(value)) return "[]interface {}";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  return typeof value === "boolean" ? "bool" : typeof value;
}
