import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { StructuralSchema } from "#model/structural-schema.ts";
import { Causes } from "../causes.ts";
import { arbitraryObject, arbitrarySchema, schemaWithValue } from "./arbitrary-schema.ts";
import { applyDefaults } from "./defaults.ts";
import { compileSchema } from "./schema-node.ts";
import { nothingStored, validate } from "./validate.ts";

function mistakes(schema: StructuralSchema, value: unknown, stored: unknown = nothingStored): readonly string[] {
  const causes = new Causes();
  validate(compileSchema(schema), deepFreeze(value), deepFreeze(stored), { causes, root: "" });
  return causes.all.map(({ field, reason, message }) => `${field} ${reason.replace("FieldValue", "")}: ${message}`);
}

/** A schema of one field, so that there is a path. */
function oneField(schema: StructuralSchema): StructuralSchema {
  return { type: "object", properties: { f: schema } };
}

describe("the server's words", () => {
  test.each<[string, StructuralSchema, unknown, readonly string[]]>([
    ["a wrong type", { type: "integer" }, "x", ['f TypeInvalid: Invalid value: "string": f in body must be of type integer: "string"']],
    ["a null", { type: "string" }, null, ['f TypeInvalid: Invalid value: "null": f in body must be of type string: "null"']],
    ["a short text", { type: "string", minLength: 2 }, "a", ['f Invalid: Invalid value: "a": f in body should be at least 2 chars long']],
    ["a long text", { type: "string", maxLength: 1 }, "ab", ["f TooLong: Too long: may not be more than 1 byte"]],
    [
      "a text that does not match",
      { type: "string", pattern: "^a$" },
      "b",
      ["f Invalid: Invalid value: \"b\": f in body should match '^a$'"],
    ],
    [
      "a text of the wrong format",
      { type: "string", format: "date-time" },
      "now",
      ['f TypeInvalid: Invalid value: "now": f in body must be of type date-time: "now"'],
    ],
    ["a small number", { type: "integer", minimum: 1 }, 0, ["f Invalid: Invalid value: 0: f in body should be greater than or equal to 1"]],
    [
      "a large number",
      { type: "number", maximum: 1.5 },
      1.6,
      ["f Invalid: Invalid value: 1.6: f in body should be less than or equal to 1.5"],
    ],
    [
      "a number with too many bits",
      { type: "integer", format: "int32" },
      2 ** 31,
      ['<nil> Invalid: Invalid value: "": Checked value must be of type integer with format int32 in f'],
    ],
    [
      "a value that is not in its list",
      { type: "string", enum: ["a", "b"] },
      "c",
      ['f NotSupported: Unsupported value: "c": supported values: "a", "b"'],
    ],
    [
      "a number that is not in its list",
      { type: "integer", enum: [1] },
      2,
      ['f NotSupported: Unsupported value: 2: supported values: "1"'],
    ],
    ["a short list", { type: "array", minItems: 1 }, [], ["f Invalid: Invalid value: 0: f in body should have at least 1 items"]],
    ["a long list", { type: "array", maxItems: 1 }, [1, 2], ["f TooMany: Too many: 2: must have at most 1 item"]],
    ["a small map", { type: "object", minProperties: 1 }, {}, ["f Invalid: Invalid value: 0: f in body should have at least 1 properties"]],
    ["a large map", { type: "object", maxProperties: 0 }, { a: 1 }, ["f TooMany: Too many: 1: must have at most 0 items"]],
    ["a missing field", { type: "object", required: ["g"] }, {}, ["f.g Required: Required value"]],
  ])("for %s", (_what, schema, value, expected) => {
    expect(mistakes(oneField(schema), { f: value })).toEqual(expected);
  });
});

test("paths lead through lists and maps", () => {
  const schema = oneField({ type: "array", items: { type: "object", additionalProperties: { type: "string", enum: ["x"] } } });
  expect(mistakes(schema, { f: [{}, { key: "y" }] })[0]).toMatch(/^f\[1\]\.key NotSupported/);
});

test("a status write leaves the status out of its sentences, but not out of its fields", () => {
  const causes = new Causes();
  const schema: StructuralSchema = { type: "object", required: ["phase"], properties: { count: { type: "integer" } } };
  validate(compileSchema(schema), { count: "x" }, nothingStored, { causes, root: "status" });
  expect(causes.all).toEqual([
    {
      field: "status.count",
      reason: "FieldValueTypeInvalid",
      message: 'Invalid value: "string": count in body must be of type integer: "string"',
    },
    { field: "status.phase", reason: "FieldValueRequired", message: "Required value" },
  ]);
});

test("one alternative is enough, and the first one speaks when none fits", () => {
  const schema = oneField({ "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] });
  expect(mistakes(schema, { f: 1 })).toEqual([]);
  expect(mistakes(schema, { f: "1" })).toEqual([]);
  expect(mistakes(schema, { f: true })).toHaveLength(3);
});

describe("mistakes that are stored already", () => {
  const schema: StructuralSchema = {
    type: "object",
    properties: {
      text: { type: "string", maxLength: 1 },
      other: { type: "string" },
      plain: { type: "array", items: { type: "string", maxLength: 1 } },
      keyed: {
        type: "array",
        items: { type: "object", properties: { k: { type: "string" }, v: { type: "string", maxLength: 1 } } },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
      },
    },
  };
  const stored = { text: "long", plain: ["long"], keyed: [{ k: "1", v: "long" }] };

  test("are not counted again", () => {
    expect(mistakes(schema, structuredClone({ ...stored, other: "new" }), stored)).toEqual([]);
  });

  test("count when the value changes", () => {
    expect(mistakes(schema, { ...stored, text: "longer" }, stored)).toHaveLength(1);
  });

  test("follow an item of a keyed list to its new place", () => {
    expect(mistakes(schema, { keyed: [{ k: "0" }, { k: "1", v: "long" }] }, stored)).toEqual([]);
    expect(mistakes(schema, { keyed: [{ k: "0", v: "long" }] }, stored)).toHaveLength(1);
  });

  test("count in every item of a plain list that has changed", () => {
    expect(mistakes(schema, { plain: ["long", "x"] }, stored)).toHaveLength(1);
  });
});

test("a value that fits its schema has no mistakes", () => {
  fc.assert(
    fc.property(schemaWithValue, ({ schema, value }) => {
      expect(mistakes(schema, applyDefaults(compileSchema(schema), value))).toEqual([]);
    }),
  );
});

test("an object that has not changed has no mistakes, whatever is in it, and whether or not it is the same object", () => {
  fc.assert(
    fc.property(arbitrarySchema, arbitraryObject, (schema, value) => {
      expect(mistakes(schema, value, value)).toEqual([]);
      expect(mistakes(schema, structuredClone(value), value)).toEqual([]);
    }),
  );
});

test("an update has at most the mistakes that a create would have", () => {
  fc.assert(
    fc.property(arbitrarySchema, arbitraryObject, arbitraryObject, (schema, value, stored) => {
      const onCreate = new Set(mistakes(schema, value));
      for (const mistake of mistakes(schema, value, stored)) expect(onCreate).toContain(mistake);
    }),
  );
});

test("a format that only the server could check is an error in the schema", () => {
  expect(() => compileSchema({ type: "string", format: "email" })).toThrow(
    'format "email" is checked by API servers but not by the embedded store',
  );
});
