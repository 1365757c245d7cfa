/** Turns a TypeBox schema into the structural schema that a CustomResourceDefinition takes. */
import { type TSchema } from "typebox";
import type { StructuralSchema } from "./structural-schema.ts";

/** Keywords that mean the same on both sides. */
const sameKeywords: ReadonlySet<string> = new Set([
  "type",
  "description",
  "enum",
  "default",
  "nullable",
  "format",
  "pattern",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "required",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-int-or-string",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-map-type",
  "x-kubernetes-validations",
] satisfies readonly (keyof StructuralSchema)[]);

/** The pattern by which TypeBox says "any key" in a record. */
const anyKey = "^.*$";

export function structuralSchemaOf(schema: TSchema): StructuralSchema {
  const printed: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries<unknown>({ ...schema })) Object.assign(printed, printKeyword(keyword, value));
  return printed;
}

function printKeyword(keyword: string, value: unknown): Partial<Record<keyof StructuralSchema, unknown>> {
  if (sameKeywords.has(keyword)) return { [keyword]: value };
  switch (keyword) {
    case "properties":
      return { properties: mapValues(value, structuralSchemaOf) };
    case "items":
      return { items: structuralSchemaOf(asObject(keyword, value)) };
    case "additionalProperties":
      return { additionalProperties: structuralSchemaOf(asObject(keyword, value)) };
    case "patternProperties":
      return { additionalProperties: structuralSchemaOf(asObject(keyword, asObject(keyword, value)[anyKey])) };
    case "anyOf":
      return { anyOf: Object.values(asObject(keyword, value)).map((option) => structuralSchemaOf(asObject(keyword, option))) };
    default:
      throw new Error(`a structural schema cannot say "${keyword}": use one of its own keywords (src/model/structural-schema.ts)`);
  }
}

function mapValues(value: unknown, print: (schema: TSchema) => StructuralSchema): Record<string, StructuralSchema> {
  return Object.fromEntries(
    Object.entries(asObject("properties", value)).map(([name, property]) => [name, print(asObject(`property ${name}`, property))]),
  );
}

function asObject(where: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) {
    throw new Error(`${where}: a structural schema needs a schema here, not ${JSON.stringify(value)}`);
  }
  return { ...value };
}
