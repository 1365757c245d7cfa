import fc from "fast-check";
import { expect, test } from "vitest";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { StructuralSchema } from "#model/structural-schema.ts";
import { isRecord } from "../json.ts";
import { arbitraryObject, arbitrarySchema, schemaWithValue } from "./arbitrary-schema.ts";
import { applyDefaults } from "./defaults.ts";
import { prune } from "./prune.ts";
import { compileSchema } from "./schema-node.ts";

function filled(schema: StructuralSchema, value: unknown): unknown {
  return applyDefaults(compileSchema(schema), deepFreeze(value));
}

const policy: StructuralSchema = {
  type: "object",
  properties: { mode: { type: "string", default: "Gentle" }, seconds: { type: "integer", default: 30 } },
};

test("a missing object with a default is there, with the defaults inside it", () => {
  const schema: StructuralSchema = { type: "object", properties: { policy: { ...policy, default: {} } } };
  expect(filled(schema, {})).toEqual({ policy: { mode: "Gentle", seconds: 30 } });
  expect(filled(schema, { policy: { seconds: 5 } })).toEqual({ policy: { mode: "Gentle", seconds: 5 } });
});

test("a missing object without a default stays missing", () => {
  const schema: StructuralSchema = { type: "object", properties: { policy } };
  expect(filled(schema, {})).toEqual({});
  expect(filled(schema, { policy: {} })).toEqual({ policy: { mode: "Gentle", seconds: 30 } });
});

test("defaults reach into lists and maps", () => {
  const schema: StructuralSchema = {
    type: "object",
    properties: { list: { type: "array", items: policy }, map: { type: "object", additionalProperties: policy } },
  };
  expect(filled(schema, { list: [{}, { mode: "x" }], map: { one: {} } })).toEqual({
    list: [
      { mode: "Gentle", seconds: 30 },
      { mode: "x", seconds: 30 },
    ],
    map: { one: { mode: "Gentle", seconds: 30 } },
  });
});

test("null is replaced by the default, or goes, unless it may stand", () => {
  const schema: StructuralSchema = {
    type: "object",
    properties: {
      withDefault: { type: "string", default: "x" },
      without: { type: "string" },
      nullable: { type: "string", nullable: true, default: "x" },
    },
  };
  expect(filled(schema, { withDefault: null, without: null, nullable: null })).toEqual({ withDefault: "x", nullable: null });
});

test("null in a list is left for validation to refuse", () => {
  expect(filled({ type: "array", items: { type: "string" } }, [null])).toEqual([null]);
  expect(filled({ type: "array", items: { type: "string", default: "x" } }, [null])).toEqual(["x"]);
});

test("an empty value is a value", () => {
  const schema: StructuralSchema = {
    type: "object",
    properties: { text: { type: "string", default: "x" }, count: { type: "integer", default: 1 }, on: { type: "boolean", default: true } },
  };
  const value = { text: "", count: 0, on: false };
  expect(filled(schema, value)).toBe(value);
});

test("defaulting again changes nothing, and gives back the same object", () => {
  fc.assert(
    fc.property(arbitrarySchema, arbitraryObject, (schema, value) => {
      const node = compileSchema(schema);
      const once = deepFreeze(applyDefaults(node, prune(node, value, "", [])));
      expect(applyDefaults(node, once)).toBe(once);
    }),
  );
});

test("what was given is still there", () => {
  fc.assert(
    fc.property(schemaWithValue, ({ schema, value }) => {
      expect(filled(schema, value)).toMatchObject(isRecord(value) ? value : {});
    }),
  );
});
