/** For property tests: schemas, values that fit them, and values that have more than they should. */
import fc from "fast-check";
import type { Json } from "#model/meta.ts";
import type { StructuralSchema } from "#model/structural-schema.ts";

/** Few names, so that objects and schemas meet. */
const fieldName = fc.constantFrom("a", "b", "c", "d");

const scalar: fc.Arbitrary<StructuralSchema> = fc.oneof(
  fc.constantFrom<StructuralSchema>({ type: "string" }, { type: "string", default: "" }, { type: "string", default: "text" }),
  fc.constantFrom<StructuralSchema>({ type: "integer" }, { type: "integer", default: 0 }, { type: "integer", default: 7 }),
  fc.constantFrom<StructuralSchema>({ type: "boolean" }, { type: "boolean", default: false }, { type: "boolean", nullable: true }),
);

/** The same with up to `depth` levels below. */
function schemaOf(depth: number): fc.Arbitrary<StructuralSchema> {
  if (depth === 0) return scalar;
  const below = schemaOf(depth - 1);
  const object = fc
    .tuple(fc.dictionary(fieldName, below, { maxKeys: 3 }), fc.boolean(), fc.boolean())
    .map(([properties, hasDefault, keepsUnknown]): StructuralSchema => ({
      type: "object",
      properties,
      ...(hasDefault && { default: {} }),
      ...(keepsUnknown && { "x-kubernetes-preserve-unknown-fields": true }),
    }));
  const map = below.map((additionalProperties): StructuralSchema => ({ type: "object", additionalProperties }));
  const list = below.map((items): StructuralSchema => ({ type: "array", items }));
  return fc.oneof(scalar, object, map, list);
}

export const arbitrarySchema: fc.Arbitrary<StructuralSchema> = fc
  .dictionary(fieldName, schemaOf(3), { minKeys: 1 })
  .map((properties) => ({ type: "object", properties }));

/** Values that say only what the schema knows, and leave some of it out. */
export function valueOf(of: StructuralSchema): fc.Arbitrary<Json> {
  switch (of.type) {
    case "integer":
      return fc.nat(9);
    case "boolean":
      return fc.boolean();
    case "array":
      return of.items === undefined ? fc.constant([]) : fc.array(valueOf(of.items), { maxLength: 3 });
    case "object":
      return of.additionalProperties === undefined
        ? objectOf(of.properties ?? {})
        : fc.dictionary(fieldName, valueOf(of.additionalProperties), { maxKeys: 3 });
    case "string":
    case "number":
    case undefined:
      return fc.constantFrom("x", "y", "z");
    default:
      return fc.constant(null);
  }
}

function objectOf(properties: NonNullable<StructuralSchema["properties"]>): fc.Arbitrary<Json> {
  const fields = Object.entries(properties).map(([key, below]) => fc.option(valueOf(below).map((value) => [key, value] as const)));
  return fc.tuple(...fields).map((given) => Object.fromEntries(given.filter((field) => field !== null)));
}

/** Any JSON with the field names that schemas have, and others. */
export const arbitraryJson: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom<Json>(null, true, 1, 1.5, "x"),
    fc.dictionary(fc.constantFrom("a", "b", "c", "d", "stranger"), tie("value"), { maxKeys: 4 }),
    fc.array(tie("value"), { maxLength: 3 }),
  ),
})).value;

/** An object that a schema of objects can be held against. */
export const arbitraryObject = fc.dictionary(fc.constantFrom("a", "b", "c", "d", "stranger"), arbitraryJson);

/** A schema together with a value that fits it. */
export const schemaWithValue = arbitrarySchema.chain((of) => valueOf(of).map((value) => ({ schema: of, value })));
