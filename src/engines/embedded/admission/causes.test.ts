import { expect, test } from "vitest";
import { Causes } from "./causes.ts";

function messages(report: (causes: Causes) => void): readonly string[] {
  const causes = new Causes();
  report(causes);
  return causes.all.map(({ field, reason, message }) => `${field} | ${reason} | ${message}`);
}

test.each<[string, (causes: Causes) => void, string]>([
  ["a text", (causes) => causes.invalid("f", 'a"b', "why"), 'f | FieldValueInvalid | Invalid value: "a\\"b": why'],
  ["a number", (causes) => causes.invalid("f", 1.5, "why"), "f | FieldValueInvalid | Invalid value: 1.5: why"],
  ["null", (causes) => causes.invalid("f", null, "why"), "f | FieldValueInvalid | Invalid value: null: why"],
  ["an object", (causes) => causes.invalid("f", { a: [1] }, "why"), 'f | FieldValueInvalid | Invalid value: {"a":[1]}: why'],
  ["no value", (causes) => causes.invalid("f", undefined, "why"), "f | FieldValueInvalid | Invalid value: why"],
  ["a wrong type", (causes) => causes.typeInvalid("f", "string", "why"), 'f | FieldValueTypeInvalid | Invalid value: "string": why'],
  ["something missing", (causes) => causes.required("f"), "f | FieldValueRequired | Required value"],
  ["something missing, and why", (causes) => causes.required("f", "why"), "f | FieldValueRequired | Required value: why"],
  [
    "a choice",
    (causes) => causes.notSupported("f", "c", ["a", "b"]),
    'f | FieldValueNotSupported | Unsupported value: "c": supported values: "a", "b"',
  ],
  ["a duplicate", (causes) => causes.duplicate("f", { k: 1 }), 'f | FieldValueDuplicate | Duplicate value: {"k":1}'],
  ["something not found", (causes) => causes.notFound("f", "x"), 'f | FieldValueNotFound | Not found: "x"'],
  ["something forbidden", (causes) => causes.forbidden("f", "why"), "f | FieldValueForbidden | Forbidden: why"],
  ["something long", (causes) => causes.tooLong("f", 2), "f | FieldValueTooLong | Too long: may not be more than 2 bytes"],
  ["too many", (causes) => causes.tooMany("f", 2, 1), "f | FieldValueTooMany | Too many: 2: must have at most 1 item"],
])("%s is worded as the server words it", (_what, report, expected) => {
  expect(messages(report)).toEqual([expected]);
});

test("a mistake that is found twice is told once, and two mistakes in one field are two", () => {
  const found = messages((causes) => {
    causes.required("f");
    causes.invalidEach("f", "x", ["one", "two", "one"]);
    causes.required("f");
    causes.required("g");
  });
  expect(found).toHaveLength(4);
});

test("what was found since a point can be forgotten", () => {
  const causes = new Causes();
  causes.required("kept");
  const before = causes.count;
  causes.required("forgotten");
  causes.backTo(before);
  expect(causes.all.map(({ field }) => field)).toEqual(["kept"]);
});
