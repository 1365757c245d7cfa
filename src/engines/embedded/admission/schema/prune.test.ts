import fc from "fast-check";
import { expect, test } from "vitest";
import { deepFreeze } from "#lib/deep-freeze.ts";
import { arbitraryObject, arbitrarySchema, schemaWithValue } from "./arbitrary-schema.ts";
import { prune } from "./prune.ts";
import { compileSchema } from "./schema-node.ts";

function pruned(schema: Parameters<typeof compileSchema>[0], value: unknown): { value: unknown; unknown: readonly string[] } {
  const unknown: string[] = [];
  return { value: prune(compileSchema(schema), deepFreeze(value), "", unknown), unknown };
}

test("fields that the schema does not have are dropped, and named by their path", () => {
  const schema = {
    type: "object",
    properties: {
      list: { type: "array", items: { type: "object", properties: { name: { type: "string" } } } },
      map: { type: "object", additionalProperties: { type: "object", properties: { size: { type: "integer" } } } },
    },
  } as const;
  const value = { list: [{ name: "x", age: 1 }, { name: "y" }], map: { one: { size: 1, colour: "red" } }, other: { deep: true } };
  expect(pruned(schema, value)).toEqual({
    value: { list: [{ name: "x" }, { name: "y" }], map: { one: { size: 1 } } },
    unknown: ["list[0].age", "map.one.colour", "other"],
  });
});

test("what is declared to be kept is kept, but known fields in it are still pruned", () => {
  const schema = {
    type: "object",
    "x-kubernetes-preserve-unknown-fields": true,
    properties: { known: { type: "object", properties: { a: { type: "string" } } } },
  } as const;
  const value = { known: { a: "x", b: 1 }, stranger: { anything: [1, { goes: null }] } };
  expect(pruned(schema, value)).toEqual({ value: { known: { a: "x" }, stranger: value.stranger }, unknown: ["known.b"] });
});

test("a value of the wrong type keeps nothing of an object's fields", () => {
  const schema = { type: "object", properties: { text: { type: "string" } } } as const;
  expect(pruned(schema, { text: { no: 1 } })).toEqual({ value: { text: {} }, unknown: ["text.no"] });
});

test("a value that says only what its schema knows stays the same object", () => {
  fc.assert(
    fc.property(schemaWithValue, ({ schema, value }) => {
      const result = pruned(schema, value);
      expect(result.value).toBe(value);
      expect(result.unknown).toEqual([]);
    }),
  );
});

test("exactly the unknown is removed: what was removed is named, and pruning again removes nothing", () => {
  fc.assert(
    fc.property(arbitrarySchema, arbitraryObject, (schema, value) => {
      const once = pruned(schema, value);
      const twice = pruned(schema, once.value);
      expect(twice.value).toBe(once.value);
      expect(twice.unknown).toEqual([]);
      expect(once.unknown.length > 0).toBe(once.value !== value);
    }),
  );
});
