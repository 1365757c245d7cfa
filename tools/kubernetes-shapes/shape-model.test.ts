import { expect, test } from "vitest";
import { printFields } from "./print-fields.ts";
import { printTypes } from "./print-types.ts";
import type { GoFields, OpenApiSchema, RecordedShapes } from "./recorded-shapes.ts";
import { shapeTypes } from "./shape-model.ts";

const schemas = "#/components/schemas";
const time: OpenApiSchema = { allOf: [{ $ref: `${schemas}/io.k8s.apimachinery.pkg.apis.meta.v1.Time` }] };
const below: OpenApiSchema = { allOf: [{ $ref: `${schemas}/x.Below` }], default: {} };

function record(properties: Readonly<Record<string, OpenApiSchema>>, go: GoFields = {}, required: readonly string[] = []): RecordedShapes {
  return {
    kubernetes: "v1.0.0",
    schemas: {
      "x.Thing": { type: "object", properties, required },
      "x.Below": { type: "object", properties: { name: { type: "string" } } },
      "x.Needy": { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
      "x.ObjectMeta": { type: "object", properties: { name: { type: "string" } } },
      "io.k8s.apimachinery.pkg.apis.meta.v1.Time": { type: "string", format: "date-time" },
    },
    go: { "x.Thing": go },
  };
}

/** How the only field of a type is written in the table, and in the type. */
function written(property: OpenApiSchema, go: GoFields = {}, required: readonly string[] = []): readonly (string | undefined)[] {
  const types = shapeTypes(record({ field: property }, go, required)).filter(({ name }) => name === "Thing");
  const line = (text: string): string | undefined => /^\s+(?:readonly )?field.*$/m.exec(text)?.[0].trim();
  return [line(printFields(types, "v1.0.0")), line(printTypes(types, "v1.0.0"))];
}

const pointers = { pointers: ["field"] };
const always = { always: ["field"] };

test.each<[string, ReturnType<typeof written>, readonly [string, string]]>([
  ["a plain field is left out when empty", written({ type: "string" }), ['field: "string",', "readonly field?: string;"]],
  ["a pointer is kept when empty", written({ type: "boolean" }, pointers), ['field: "bool?",', "readonly field?: boolean;"]],
  [
    "a field that Go never omits is always written",
    written({ type: "string", default: "" }, always, ["field"]),
    ['field: "string!",', "readonly field: string;"],
  ],
  ["a default is filled in", written({ type: "string", default: "TCP" }), ['field: "string=TCP",', "readonly field?: string;"]],
  [
    "an empty default counts for a pointer",
    written({ type: "boolean", default: false }, pointers),
    ['field: "bool?=false",', "readonly field?: boolean;"],
  ],
  ["an empty default of a plain field is none", written({ type: "string", default: "" }), ['field: "string",', "readonly field?: string;"]],
  ["a time that is always written may be null", written(time, always), ['field: "time!",', "readonly field?: string | null;"]],
  ["an object that Go never omits is always written", written(below, always), ['field: "Below!",', "readonly field?: Below;"]],
  ["an object behind a pointer is left out", written(below, pointers), ['field: "Below",', "readonly field?: Below;"]],
  [
    "a list has the type of its items",
    written({ type: "array", items: below }),
    ['field: "[]Below",', "readonly field?: readonly Below[];"],
  ],
  [
    "a map has the type of its values",
    written({ type: "object", additionalProperties: { type: "string", default: "" } }),
    ['field: "{}string",', "readonly field?: Readonly<Record<string, string>>;"],
  ],
  [
    "the values of an enumeration are in the type",
    written({ type: "array", items: { type: "string", enum: ["A", "B"] } }),
    ['field: "[]string",', 'readonly field?: readonly ("A" | "B")[];'],
  ],
  [
    "an object that must have something in it is required",
    written({ allOf: [{ $ref: `${schemas}/x.Needy` }], default: {} }, always),
    ['field: "Needy!",', "readonly field: Needy;"],
  ],
])("%s", (_, found, expected) => expect(found).toEqual(expected));

test("the metadata of a kind is required, that of a template in it is not", () => {
  const metadata = { allOf: [{ $ref: `${schemas}/x.ObjectMeta` }], default: {} };
  const thing = (more: Readonly<Record<string, OpenApiSchema>>): unknown =>
    shapeTypes(record({ metadata, ...more }, { always: ["metadata"] }))
      .find(({ name }) => name === "Thing")
      ?.fields.find(({ name }) => name === "metadata")?.required;
  expect([thing({ kind: { type: "string" } }), thing({})]).toEqual([true, false]);
});

test("what the generator does not know is refused, not guessed", () => {
  expect(() => written({ type: "string", format: "uuid" })).toThrow('does not know what this is: {"type":"string","format":"uuid"}');
});

test("two types of one name are refused", () => {
  const { schemas: types, ...rest } = record({});
  const twice = { ...types, "y.Thing": { type: "object", properties: {} } };
  expect(() => shapeTypes({ ...rest, schemas: twice })).toThrow("two types of Kubernetes are called Thing");
});
