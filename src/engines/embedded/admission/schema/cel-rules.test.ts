import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { CelRule, StructuralSchema } from "#model/structural-schema.ts";
import { Causes } from "../causes.ts";
import { checkRules, compileRules } from "./cel-rules.ts";
import { compileSchema } from "./schema-node.ts";
import { nothingStored } from "./validate.ts";

function broken(schema: StructuralSchema, value: unknown, stored: unknown = nothingStored): readonly string[] {
  const tree = compileRules(compileSchema(schema));
  const causes = new Causes();
  if (tree !== undefined) checkRules(tree, { value: deepFreeze(value), stored: deepFreeze(stored), path: "", unchanged: false }, causes);
  return causes.all.map(({ field, reason, message }) => `${field} ${reason.replace("FieldValue", "")}: ${message}`);
}

function ruled(schema: StructuralSchema, ...rules: readonly CelRule[]): StructuralSchema {
  return { ...schema, "x-kubernetes-validations": rules };
}

const scaling: StructuralSchema = {
  type: "object",
  properties: { min: { type: "integer" }, max: { type: "integer" }, mode: { type: "string" }, share: { type: "number" } },
};

describe("what rules can say", () => {
  test.each<[string, unknown, boolean]>([
    ["!has(self.min) || !has(self.max) || self.min <= self.max", { min: 1, max: 2 }, true],
    ["!has(self.min) || !has(self.max) || self.min <= self.max", { min: 2, max: 1 }, false],
    ["!has(self.min) || !has(self.max) || self.min <= self.max", {}, true],
    ["self.mode != 'Aggressive' || has(self.max)", { mode: "Aggressive" }, false],
    ["self.mode in ['a', 'b']", { mode: "b" }, true],
    [
      "self.mode.startsWith('a') && self.mode.endsWith('c') && self.mode.contains('b') && self.mode.matches('^[a-c]+$')",
      { mode: "abc" },
      true,
    ],
    ["self.mode.size() == 2 && size(self.mode) == 2", { mode: "é😀" }, true],
    ["self.min + 1 == 2 && self.min * 2 - 1 == 1 && self.min / 2 == 0 && 7 % 2 == self.min", { min: 1 }, true],
    ["self.share + 0.5 == 1.0 && self.share < 1.0", { share: 0.5 }, true],
    ["self.share == 1.0", { share: 1 }, true],
    ["type(self.min) == int && type(self.share) == double", { min: 1, share: 1 }, true],
    ["(has(self.min) ? 1 : 0) + (has(self.max) ? 1 : 0) == 1", { min: 1 }, true],
    ["self.?max.orValue(5) == 5", {}, true],
  ])("%s of %o: %s", (rule, value, holds) => {
    expect(broken(ruled(scaling, { rule }), value).length === 0).toBe(holds);
  });

  const members: StructuralSchema = {
    type: "array",
    items: { type: "object", properties: { name: { type: "string" }, size: { type: "integer" } } },
  };

  test.each<[string, unknown, boolean]>([
    ["self.all(m, m.size > 0)", [{ size: 1 }, { size: 2 }], true],
    ["self.all(m, self.exists_one(other, other.name == m.name))", [{ name: "a" }, { name: "a" }], false],
    ["self.exists(m, m.name == 'a')", [], false],
    ["self.filter(m, m.size > 1).size() == 1", [{ size: 1 }, { size: 2 }], true],
    ["self.map(m, m.name) == ['a', 'b']", [{ name: "a" }, { name: "b" }], true],
    ["self[0].size == 1", [{ size: 1 }], true],
  ])("%s of %o: %s", (rule, value, holds) => {
    expect(broken(ruled(members, { rule }), value).length === 0).toBe(holds);
  });
});

test("a rule speaks in the server's words, with the value where it is small", () => {
  const schema: StructuralSchema = {
    type: "object",
    properties: { text: ruled({ type: "string" }, { rule: "self != 'x'", message: "not x" }) },
  };
  expect(broken(schema, { text: "x" })).toEqual(['text Invalid: Invalid value: "x": not x']);
  expect(broken(ruled(scaling, { rule: "false", message: " never " }), {})).toEqual(["<nil> Invalid: Invalid value: never"]);
  expect(broken(ruled(scaling, { rule: "false" }), {})).toEqual(["<nil> Invalid: Invalid value: failed rule: false"]);
});

test("a rule can name the field and the reason", () => {
  const rules: readonly CelRule[] = [
    { rule: "false", message: "no", reason: "FieldValueForbidden", fieldPath: ".max" },
    { rule: "false", message: "yes", reason: "FieldValueRequired", fieldPath: ".min" },
    { rule: "false", reason: "FieldValueDuplicate", fieldPath: "['mode']" },
  ];
  expect(broken(ruled(scaling, ...rules), {})).toEqual([
    "max Forbidden: Forbidden: no",
    "min Required: Required value: yes",
    "mode Duplicate: Duplicate value",
  ]);
});

test("a rule that cannot be evaluated refuses the object, and says why", () => {
  const schema = ruled(scaling, { rule: "self.max > 1", message: "more than one" }, { rule: "self.min / 0 == 1" });
  expect(broken(schema, { min: 1 })).toEqual([
    '<nil> Invalid: Invalid value: "object": no such key: max evaluating rule: more than one',
    '<nil> Invalid: Invalid value: "object": division by zero evaluating rule: self.min / 0 == 1',
  ]);
});

test("one side of an or is enough, even if the other cannot be evaluated", () => {
  expect(broken(ruled(scaling, { rule: "self.max > 1 || self.min == 1" }), { min: 1 })).toEqual([]);
});

describe("rules about changes", () => {
  const grows = ruled(
    { type: "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] },
    { rule: "size(self) >= size(oldSelf)", message: "only grows" },
  );
  const schema: StructuralSchema = {
    type: "object",
    properties: {
      fixed: ruled({ type: "string" }, { rule: "self == oldSelf", message: "fixed" }),
      items: {
        ...grows,
        items: {
          type: "object",
          properties: { k: { type: "string" }, n: ruled({ type: "integer" }, { rule: "self > oldSelf", message: "counts up" }) },
        },
      },
    },
  };

  test("are not asked when something is new", () => {
    expect(broken(schema, { fixed: "a", items: [] })).toEqual([]);
    expect(broken(schema, { fixed: "a" }, {})).toEqual([]);
  });

  test("compare with what was stored", () => {
    expect(broken(schema, { fixed: "b" }, { fixed: "a" })).toEqual(['fixed Invalid: Invalid value: "b": fixed']);
    expect(broken(schema, { items: [] }, { items: [{ k: "a" }] })).toEqual(["items Invalid: Invalid value: only grows"]);
  });

  test("find the item by its key", () => {
    const stored = { items: [{ k: "a", n: 1 }] };
    expect(
      broken(
        schema,
        {
          items: [
            { k: "b", n: 0 },
            { k: "a", n: 2 },
          ],
        },
        stored,
      ),
    ).toEqual([]);
    expect(
      broken(
        schema,
        {
          items: [
            { k: "b", n: 9 },
            { k: "a", n: 0 },
          ],
        },
        stored,
      ),
    ).toEqual(["items[1].n Invalid: Invalid value: 0: counts up"]);
  });

  test("are asked even when nothing has changed", () => {
    const stored = deepFreeze({ items: [{ k: "a", n: 1 }] });
    expect(broken(schema, stored, stored)).toEqual(["items[0].n Invalid: Invalid value: 1: counts up"]);
  });
});

test("a rule that the stored object breaks already is asked only where something changed", () => {
  const schema: StructuralSchema = {
    type: "object",
    properties: {
      list: { type: "array", items: ruled({ type: "string" }, { rule: "self != 'bad'" }) },
      other: { type: "string" },
    },
  };
  const stored = { list: ["bad"] };
  expect(broken(schema, { list: ["bad"], other: "x" }, stored)).toEqual([]);
  expect(broken(schema, { list: ["bad", "good"] }, stored)).toHaveLength(1);
});

test("properties whose names are no identifiers are spelled out", () => {
  const schema = ruled(
    { type: "object", properties: { namespace: { type: "string" }, "a-b.c/d": { type: "integer" }, x__y: { type: "string" } } },
    { rule: "self.__namespace__ == 'n' && self.a__dash__b__dot__c__slash__d == 1 && self.x__underscores__y == 'z'" },
  );
  expect(broken(schema, { namespace: "n", "a-b.c/d": 1, x__y: "z" })).toEqual([]);
});

test("times are compared as times", () => {
  const schema: StructuralSchema = {
    type: "object",
    properties: { at: ruled({ type: "string", format: "date-time" }, { rule: "self > timestamp('2020-01-01T00:00:00Z')" }) },
  };
  expect(broken(schema, { at: "2020-01-01T00:30:00+01:00" })).toHaveLength(1);
  expect(broken(schema, { at: "2020-01-01T00:30:00-01:00" })).toEqual([]);
});

test.each(["self.", "unknown == 1", "self.foo.bar()", "[1, 'a'].size() == 2"])("%o is an error in the schema", (rule) => {
  expect(() => compileRules(compileSchema({ type: "object", properties: { spec: ruled({ type: "object" }, { rule }) } }))).toThrow(
    `the rule "${rule}" at "spec" does not compile`,
  );
});

test("whole numbers keep their value, however large", () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), (number) => {
      const schema = ruled({ type: "integer" }, { rule: `self == ${number}` });
      expect(broken(schema, number)).toEqual([]);
    }),
  );
});
