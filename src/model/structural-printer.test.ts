import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import {
  choice,
  count,
  duration,
  int32,
  intOrString,
  labelValue,
  listMap,
  resourceList,
  rules,
  stringMap,
  text,
} from "./schema-builders.ts";
import { structuralSchemaOf } from "./structural-printer.ts";

describe("printing a schema", () => {
  test("an object names what it requires, and an optional field is not among it", () => {
    const schema = Type.Object({ a: text("A."), b: Type.Optional(Type.Boolean({ default: false })) }, { description: "Both." });
    expect(structuralSchemaOf(schema)).toEqual({
      type: "object",
      description: "Both.",
      required: ["a"],
      properties: { a: { type: "string", description: "A." }, b: { type: "boolean", default: false } },
    });
  });

  test("an object without required fields does not say so", () => {
    expect(structuralSchemaOf(Type.Object({ a: Type.Optional(text("A.")) }))).not.toHaveProperty("required");
  });

  test("a map becomes additionalProperties", () => {
    expect(structuralSchemaOf(stringMap("M."))).toEqual({ type: "object", description: "M.", additionalProperties: { type: "string" } });
  });

  test("a list with a key says which", () => {
    const list = listMap(Type.Object({ name: text("N.") }), "name", { maxItems: 3 });
    expect(structuralSchemaOf(list)).toEqual({
      type: "array",
      maxItems: 3,
      items: { type: "object", required: ["name"], properties: { name: { type: "string", description: "N." } } },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
    });
  });

  test("a choice is text with its values", () => {
    expect(structuralSchemaOf(choice(["A", "B"], "C.", { default: "A" }))).toEqual({
      type: "string",
      description: "C.",
      enum: ["A", "B"],
      default: "A",
    });
  });

  test("number-or-text has no type of its own", () => {
    expect(structuralSchemaOf(intOrString())).toEqual({
      anyOf: [{ type: "integer" }, { type: "string" }],
      "x-kubernetes-int-or-string": true,
    });
  });

  test("a count starts at 0 and fits 32 bits", () => {
    expect(structuralSchemaOf(count("C."))).toMatchObject({ type: "integer", format: "int32", minimum: 0, maximum: 2147483647 });
    expect(structuralSchemaOf(int32("I."))).toMatchObject({ minimum: -2147483648, maximum: 2147483647 });
  });

  test("rules go along", () => {
    const rule = { rule: "self.a != ''", message: "a is needed" };
    expect(structuralSchemaOf(Type.Object({ a: text("A.") }, rules(rule)))).toMatchObject({ "x-kubernetes-validations": [rule] });
  });

  test.each([
    ["const", Type.Literal("a")],
    ["allOf", Type.Intersect([Type.Object({}), Type.Object({})])],
    ["uniqueItems", Type.Array(Type.String(), { uniqueItems: true })],
    ["exclusiveMinimum", Type.Number({ exclusiveMinimum: 0 })],
  ])("what a structural schema cannot say is an error: %s", (keyword, schema) => {
    expect(() => structuralSchemaOf(Type.Object({ a: schema }))).toThrow(`cannot say "${keyword}"`);
  });

  test("a map with a pattern for its keys is an error, because the pattern would be lost", () => {
    expect(() => structuralSchemaOf(Type.Record(Type.String({ pattern: "^x" }), Type.String()))).toThrow("patternProperties");
  });

  test("a closed object is an error: the API server prunes instead", () => {
    expect(() => structuralSchemaOf(Type.Object({}, { additionalProperties: false }))).toThrow("additionalProperties");
  });
});

describe("patterns", () => {
  const quantity = patternOf(structuralSchemaOf(resourceList("R.")).additionalProperties ?? {});

  test.each(["1", "0.5", ".5", "5.", "100m", "1Gi", "1.5Gi", "1e3", "1E-3", "+1", "-1", "2k", "1n"])("%s is a quantity", (value) => {
    expect(value).toMatch(quantity);
  });

  test.each(["", "1 Gi", "1GB", "1gi", "Gi", "1K", "1e", "--1", "1,5"])("%j is no quantity", (value) => {
    expect(value).not.toMatch(quantity);
  });

  test("a label value may be empty and holds no space", () => {
    const pattern = patternOf(labelValue("L."));
    for (const good of ["", "a", "A.b_c-1"]) expect(good).toMatch(pattern);
    for (const bad of ["-a", "a-", "a b", "."]) expect(bad).not.toMatch(pattern);
  });

  test("a duration has a unit", () => {
    expect("5m").toMatch(patternOf(duration("D.")));
    expect("5").not.toMatch(patternOf(duration("D.")));
  });
});

function patternOf(schema: object): RegExp {
  const pattern: unknown = Object.entries(schema).find(([keyword]) => keyword === "pattern")?.[1];
  return new RegExp(String(pattern));
}
