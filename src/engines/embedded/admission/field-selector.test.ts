import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseFieldSelector } from "./field-selector.ts";

describe("field selectors", () => {
  test.each([
    ["", []],
    [",", []],
    ["metadata.name=a", [{ key: "metadata.name", op: "=", value: "a" }]],
    ["metadata.name==a", [{ key: "metadata.name", op: "=", value: "a" }]],
    ["metadata.name!=a", [{ key: "metadata.name", op: "!=", value: "a" }]],
    ["spec.nodeName=", [{ key: "spec.nodeName", op: "=", value: "" }]],
    [
      "a=1,b!=2",
      [
        { key: "a", op: "=", value: "1" },
        { key: "b", op: "!=", value: "2" },
      ],
    ],
    ["a=x\\,y", [{ key: "a", op: "=", value: "x,y" }]],
    ["a=x\\=y", [{ key: "a", op: "=", value: "x=y" }]],
    ["a=x\\\\y", [{ key: "a", op: "=", value: "x\\y" }]],
  ])("%o is read", (selector, expected) => {
    expect(parseFieldSelector(selector)).toEqual(expected);
  });

  test.each([
    ["metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
    ["a=b,!c", "invalid selector: 'a=b,!c'; can't understand '!c'"],
    ["a>1", "invalid selector: 'a>1'; can't understand 'a>1'"],
    ["a=b\\c", "invalid field selector: invalid escape sequence: \\c"],
    ["a=\\", "invalid field selector: invalid escape sequence: \\"],
    ["a=b=c", "invalid field selector: unescaped character in value: 61"],
  ])("%o is a bad request", (selector, message) => {
    expect(() => parseFieldSelector(selector)).toThrow(message);
  });

  test("any value comes back as it was, once it is escaped", () => {
    const escaped = (value: string): string => value.replaceAll(/[\\,=]/g, String.raw`\$&`);
    fc.assert(
      fc.property(fc.string(), fc.string(), (first, second) => {
        const read = parseFieldSelector(`a=${escaped(first)},b!=${escaped(second)}`);
        expect(read).toEqual([
          { key: "a", op: "=", value: first },
          { key: "b", op: "!=", value: second },
        ]);
      }),
    );
  });
});
