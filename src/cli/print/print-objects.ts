import { resourceTypeOf } from "#model/kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import { kindName } from "../kind-name.ts";
import { goJson } from "./go-json.ts";
import { jsonPathText } from "./json-path-text.ts";

export type ObjectFormat = "yaml" | "json" | "name" | `jsonpath=${string}`;

/** Objects as a whole: a single one as itself when only one could be meant, else as a List. */
export async function printObjects(objects: readonly ApiObject[], format: ObjectFormat, single: boolean): Promise<string> {
  if (format === "name") return objects.map(nameLine).join("");
  const [first] = objects;
  const shown =
    single && first !== undefined
      ? tidy(first)
      : { apiVersion: "v1", kind: "List", metadata: { resourceVersion: "" }, items: objects.map(tidy) };
  if (format.startsWith("jsonpath=")) return `${jsonPathText(format.slice("jsonpath=".length), shown)}\n`;
  if (format === "json") return `${goJson(shown, "    ")}\n`;
  // The library takes longer to load than a table to print.
  const { yamlText } = await import("./yaml-text.ts");
  return yamlText(shown);
}

/** Without the record of which client set which field, which is longer than the object. */
function tidy(object: ApiObject): ApiObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function nameLine({ apiVersion = "", kind = "", metadata }: ApiObject): string {
  const type = resourceTypeOf(apiVersion, kind);
  return `${type === undefined ? kind.toLowerCase() : kindName(type)}/${metadata.name ?? ""}\n`;
}
