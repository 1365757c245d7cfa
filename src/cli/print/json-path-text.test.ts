import { expect, test } from "vitest";
import { jsonPathText } from "./json-path-text.ts";

const value = [
  { id: "a", n: 1, labels: { "x.y/z": "v" } },
  { id: "b", n: 2 },
];

test.each([
  ["{[*].id}", "a b"],
  ['{[0].id}{"\\t"}{[0].n}', "a\t1"],
  ["ids: {[*].id}!", "ids: a b!"],
  ["{[0].labels}", '{"x.y/z":"v"}'],
  ["{[0].labels.x\\.y/z}", "v"],
  ['{[?(@.id=="b")].n}', "2"],
  ["{[*].nope}", ""],
])("%s", (template, text) => {
  expect(jsonPathText(template, value)).toBe(text);
});

test.each([
  ["{[0].id", "braces do not match"],
  ["{range [*]}x{end}", "does not support range"],
  ["{[}", "cannot read the JSONPath"],
])("%s is refused", (template, message) => {
  expect(() => jsonPathText(template, value)).toThrow(message);
});
