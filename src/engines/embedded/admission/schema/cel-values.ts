import { isList, isRecord, mapList, put } from "../json.ts";
import type { SchemaNode } from "./schema-node.ts";

/** Gives a JSON value the types that CEL sees in it. */
export type ToCel = (value: unknown) => unknown;

/**
 * The conversion that a schema asks for; undefined when its JSON values can be taken as they are. JSON has one sort of number
 * and CEL has two: whether 1 is an int or a double is for the schema to say, and likewise whether a text is a time.
 */
export function celConversion(node: SchemaNode): ToCel | undefined {
  const { type, format } = node.schema;
  if (type === "integer" || node.schema["x-kubernetes-int-or-string"] === true) return toInt;
  if (type === "string" && (format === "date-time" || format === "date")) return toTimestamp;
  if (type === "array") return listConversion(node);
  return type === "object" ? objectConversion(node) : undefined;
}

function toInt(value: unknown): unknown {
  return typeof value === "number" && Number.isInteger(value) ? BigInt(value) : value;
}

function toTimestamp(value: unknown): unknown {
  return typeof value === "string" ? new Date(value) : value;
}

function listConversion(node: SchemaNode): ToCel | undefined {
  const convert = node.items === undefined ? undefined : celConversion(node.items);
  return convert === undefined ? undefined : (value) => (isList(value) ? mapList(value, convert) : value);
}

function objectConversion(node: SchemaNode): ToCel | undefined {
  const conversions = [...node.properties].flatMap(([key, below]) => {
    const convert = celConversion(below);
    const name = celName(key);
    return convert === undefined && name === key ? [] : [{ key, name, convert }];
  });
  const convertOther = node.additional === undefined ? undefined : celConversion(node.additional);
  if (conversions.length === 0 && convertOther === undefined) return undefined;
  return (value) => {
    if (!isRecord(value)) return value;
    const converted: Record<string, unknown> = { ...value };
    if (convertOther !== undefined) {
      for (const [key, child] of Object.entries(value)) if (!node.properties.has(key)) put(converted, key, convertOther(child));
    }
    for (const { key, name, convert } of conversions) {
      if (!Object.hasOwn(value, key)) continue;
      if (name !== key) delete converted[key];
      put(converted, name, convert === undefined ? value[key] : convert(value[key]));
    }
    return converted;
  };
}

const reserved = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(" "),
);

const spelledOut: Readonly<Record<string, string>> = { __: "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__" };

/** How a rule names a property whose own name is not an identifier, or is a word of the language. */
function celName(key: string): string {
  return reserved.has(key) ? `__${key}__` : key.replaceAll(/__|[.\-/]/g, (part) => spelledOut[part] ?? part);
}
