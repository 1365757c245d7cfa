import { resourceTypeOf } from "#model/kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import { kindName } from "../kind-name.ts";
import { goJson } from "./go-json.ts";
import { jsonPathText } from "./json-path-text.ts";
import { yamlText } from "./yaml-text.ts";

export type ObjectFormat = "yaml" | "json" | "name" | `jsonpath=${string}`;

/** Whole objects: a single one as itself if only one was requested, otherwise a List. */
export function printObjects(objects: readonly ApiObject[], format: ObjectFormat, single: boolean): string {
  if (format === "name") return objects.map(nameLine).join("");
  const [first] = objects;
  const shown =
    single && first !== undefined
      ? tidy(first)
      : { apiVersion: "v1", kind: "List", metadata: { resourceVersion: "" }, items: objects.map(tidy) };
  if (format.startsWith("jsonpath=")) return `${jsonPathText(format.slice("jsonpath=".length), shown)}\n`;
  return format === "yaml" ? yamlText(shown) : `${goJson(shown, "    ")}\n`;
}

/** Removes managedFields, which readers of the object do not need. */
function tidy(object: ApiObject): ApiObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function nameLine({ apiVersion = "", kind = "", metadata }: ApiObject): string {
  const type = resourceTypeOf(apiVersion, kind);
  return `${type === undefined ? kind.toLowerCase() : kindName(type)}/${metadata.name ?? ""}\n`;
}
