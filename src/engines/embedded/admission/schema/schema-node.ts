/**
 * The structural schema of one of our kinds, prepared once for what every write asks of it:
 *
 * - `schema-node.ts` (this file) the prepared tree,
 * - `prune.ts` drops fields that the schema does not have, `defaults.ts` fills in those it has a default for,
 * - `validate.ts` walks values along the tree and `value-checks.ts` judges each, with `formats.ts` for texts,
 * - `list-types.ts` keeps sets and keyed lists free of duplicates,
 * - `cel-rules.ts` runs the rules that are written in CEL, on values that `cel-values.ts` has given CEL's types.
 *
 * All of them share what they do not change, and all but pruning look only at what differs from the stored object.
 */
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { StructuralSchema } from "#model/structural-schema.ts";
import { applyDefaults } from "./defaults.ts";
import { type FormatCheck, formatCheck } from "./formats.ts";

export interface SchemaNode {
  readonly schema: StructuralSchema;
  readonly properties: ReadonlyMap<string, SchemaNode>;
  /** For keys that are not in `properties`. */
  readonly additional: SchemaNode | undefined;
  readonly items: SchemaNode | undefined;
  readonly alternatives: readonly SchemaNode[];
  readonly required: readonly string[];
  readonly preservesUnknown: boolean;
  readonly nullable: boolean;
  /** What stands in for a missing value, itself with all defaults; undefined when there is none. Frozen, so it can be shared. */
  readonly fallback: unknown;
  /** The fallbacks of the properties. */
  readonly fallbacks: readonly (readonly [key: string, value: unknown])[];
  /** What makes two items of a keyed list the same item. */
  readonly mapKeys: readonly string[] | undefined;
  readonly isSet: boolean;
  /** Whether this or something below it is a set or a keyed list. */
  readonly hasUniqueLists: boolean;
  readonly pattern: RegExp | undefined;
  /** Undefined for formats that the server does not know either: they mean nothing. */
  readonly format: FormatCheck | undefined;
}

/** Prepares the schema of a whole object. What every object has is known without being said. */
export function compileObjectSchema(schema: StructuralSchema): SchemaNode {
  return compileSchema({
    ...schema,
    properties: {
      ...schema.properties,
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { ...schema.properties?.["metadata"], type: "object", "x-kubernetes-preserve-unknown-fields": true },
    },
  });
}

export function compileSchema(schema: StructuralSchema): SchemaNode {
  const properties = new Map(Object.entries(schema.properties ?? {}).map(([key, below]) => [key, compileSchema(below)]));
  const additional = compileOptional(schema.additionalProperties);
  const items = compileOptional(schema.items);
  const node: SchemaNode = {
    schema,
    properties,
    additional,
    items,
    alternatives: (schema.anyOf ?? []).map(compileSchema),
    required: schema.required ?? [],
    preservesUnknown: schema["x-kubernetes-preserve-unknown-fields"] === true,
    nullable: schema.nullable === true,
    fallback: undefined,
    fallbacks: [...properties].flatMap(([key, below]) => (below.fallback === undefined ? [] : [[key, below.fallback] as const])),
    ...uniqueness(schema, [...properties.values(), additional, items]),
    pattern: schema.pattern === undefined ? undefined : compilePattern(schema.pattern),
    format: schema.format === undefined ? undefined : formatCheck(schema.format),
  };
  return schema.default === undefined ? node : { ...node, fallback: deepFreeze(structuredClone(applyDefaults(node, schema.default))) };
}

function compileOptional(schema: StructuralSchema | undefined): SchemaNode | undefined {
  return schema === undefined ? undefined : compileSchema(schema);
}

function uniqueness(
  schema: StructuralSchema,
  below: readonly (SchemaNode | undefined)[],
): Pick<SchemaNode, "mapKeys" | "isSet" | "hasUniqueLists"> {
  const listType = schema["x-kubernetes-list-type"];
  const isUnique = listType === "map" || listType === "set";
  return {
    mapKeys: listType === "map" ? (schema["x-kubernetes-list-map-keys"] ?? []) : undefined,
    isSet: listType === "set",
    hasUniqueLists: isUnique || below.some((node) => node?.hasUniqueLists === true),
  };
}

/** The server's patterns are RE2; read as Unicode they mean the same here, except for a few escapes that only the old mode takes. */
function compilePattern(pattern: string): RegExp {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return new RegExp(pattern);
  }
}
