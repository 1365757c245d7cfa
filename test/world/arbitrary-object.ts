/** Random values that a structural schema allows: what any client might send. Rules in CEL are not looked at. */
import * as fc from "fast-check";
import type { Json } from "#model/meta.ts";
import type { StructuralSchema } from "#model/structural-schema.ts";

/** Longer lists and texts find no other faults, they only take longer. */
const small = { maxLength: 3 } as const;

export function arbitraryValue(schema: StructuralSchema): fc.Arbitrary<Json> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema["x-kubernetes-int-or-string"] === true) return fc.oneof(fc.integer(), arbitraryText(schema));
  switch (schema.type) {
    case "object":
      return arbitraryObject(schema);
    case "array":
      return arbitraryList(schema);
    case "string":
      return arbitraryText(schema);
    case "integer":
    case "number":
      return arbitraryNumber(schema);
    case "boolean":
      return fc.boolean();
    case undefined:
    default:
      return anyJson();
  }
}

function arbitraryObject(schema: StructuralSchema): fc.Arbitrary<Json> {
  if (schema.additionalProperties !== undefined) {
    return fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), arbitraryValue(schema.additionalProperties), { maxKeys: 3 });
  }
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) => [name, arbitraryValue(property)] as const);
  const known = fc.record(Object.fromEntries(fields), { requiredKeys: [...(schema.required ?? [])] });
  if (schema["x-kubernetes-preserve-unknown-fields"] !== true) return known;
  const unknown = fc.dictionary(fc.stringMatching(/^x[a-z]{1,8}$/), anyJson(), { maxKeys: 2 });
  return fc.tuple(unknown, known).map(([extra, object]) => Object.assign(extra, object));
}

function arbitraryList(schema: StructuralSchema): fc.Arbitrary<Json> {
  const item = arbitraryValue(schema.items ?? {});
  const keys = schema["x-kubernetes-list-map-keys"];
  if (keys === undefined) return fc.array(item, small);
  const keyOf = (value: Json): string => JSON.stringify(keys.map((key) => Object.entries(value ?? {}).find(([name]) => name === key)?.[1]));
  return fc.uniqueArray(item, { ...small, selector: keyOf });
}

function arbitraryText(schema: StructuralSchema): fc.Arbitrary<string> {
  const { format, pattern, minLength = 0, maxLength = 20 } = schema;
  if (format === "date-time")
    return fc.date({ min: new Date(0), max: new Date("9999-01-01"), noInvalidDate: true }).map((date) => date.toISOString());
  if (pattern === undefined) return fc.string({ minLength, maxLength: Math.min(maxLength, 20) });
  return fc.stringMatching(new RegExp(pattern)).filter((text) => text.length >= minLength && text.length <= maxLength);
}

function anyJson(): fc.Arbitrary<Json> {
  // Through its text, because JSON has no -0 and a value that is read back must be the value that was sent.
  return fc.jsonValue({ maxDepth: 2 }).map((value): Json => JSON.parse(JSON.stringify(value)));
}

function arbitraryNumber({ type, minimum, maximum }: StructuralSchema): fc.Arbitrary<number> {
  if (type === "integer") return fc.integer({ min: minimum ?? -(2 ** 31), max: maximum ?? 2 ** 31 - 1 });
  return fc.double({ noNaN: true, min: minimum ?? -Number.MAX_VALUE, max: maximum ?? Number.MAX_VALUE });
}
