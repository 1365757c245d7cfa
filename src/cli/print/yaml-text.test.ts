import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseDocuments } from "../manifest/parse-documents.ts";
import { yamlText } from "./yaml-text.ts";

describe("YAML as kubectl prints it", () => {
  test("has lists at the indent of their key and keys in order", () => {
    const object = { kind: "A", apiVersion: "v1", spec: { list: [{ b: 1, a: [2, []] }, "x"], empty: {}, none: [], nothing: null } };
    expect(yamlText(object)).toBe(
      "apiVersion: v1\nkind: A\nspec:\n  empty: {}\n  list:\n  - a:\n    - 2\n    - []\n    b: 1\n  - x\n  none: []\n  nothing: null\n",
    );
  });

  test("has lists of lists on one line each", () => {
    expect(yamlText([["a", ["b"]], []])).toBe("- - a\n  - - b\n- []\n");
  });

  // Each of these was compared with kubectl 1.36.
  test.each([
    ["plain", "plain"],
    ["http://x:80/y", "http://x:80/y"],
    ["a:b", "a:b"],
    ["x#y", "x#y"],
    ["10Gi", "10Gi"],
    ["1.2.3", "1.2.3"],
    ["-a", "-a"],
    ["?x", "?x"],
    ["<<", "<<"],
    ["2026-13-01", "2026-13-01"],
    ["0b2", "0b2"],
    ["1e999", "1e999"],
    ["0xffffffffffffffffff", "0xffffffffffffffffff"],
    ["", '""'],
    ["~", '"~"'],
    ["null", '"null"'],
    ["yes", '"yes"'],
    ["No", '"No"'],
    ["TRUE", '"TRUE"'],
    ["y", '"y"'],
    ["1", '"1"'],
    ["-1", '"-1"'],
    ["+1", '"+1"'],
    ["1.", '"1."'],
    [".5", '".5"'],
    ["1e3", '"1e3"'],
    ["08", '"08"'],
    ["0x1f", '"0x1f"'],
    ["0o7", '"0o7"'],
    ["-0b1", '"-0b1"'],
    ["1_000", '"1_000"'],
    ["12:30", '"12:30"'],
    [".inf", '".inf"'],
    ["-.Inf", '"-.Inf"'],
    [".NaN", '".NaN"'],
    ["2026-01-01", '"2026-01-01"'],
    ["2026-01-01T00:00:00Z", '"2026-01-01T00:00:00Z"'],
    ["2026-1-1 1:2:3", '"2026-1-1 1:2:3"'],
    ["a: b", "'a: b'"],
    ["a:", "'a:'"],
    ["a #b", "'a #b'"],
    ["#x", "'#x'"],
    ["- a", "'- a'"],
    ["-", "'-'"],
    ["---", "'---'"],
    ["'q'", "'''q'''"],
    [" a", "' a'"],
    ["a ", "'a '"],
    ["*x", "'*x'"],
    ["{x", "'{x'"],
    ["tab\tx", '"tab\\tx"'],
    ["a\rb", '"a\\rb"'],
    ["\u0001", '"\\x01"'],
    ["\u2028", '"\\L"'],
    ["😀", '"\\U0001F600"'],
    ["é", "é"],
  ])("writes the text %j as %s", (text, written) => {
    expect(yamlText({ a: text })).toBe(`a: ${written}\n`);
  });

  test.each([
    ["a\nb", "|-\n  a\n  b"],
    ["a\nb\n", "|\n  a\n  b"],
    ["a\n\n", "|+\n  a\n"],
    ["\n", "|2+\n"],
    [" a\n  b\n", "|2\n   a\n    b"],
    ["a\n\nb", "|-\n  a\n\n  b"],
    ["a \nb", '"a \\nb"'],
    ["a\tb\nc", '"a\\tb\\nc"'],
  ])("writes the lines %j as %j", (text, written) => {
    expect(yamlText({ a: text })).toBe(`a: ${written}\n`);
  });

  test("breaks a long text at the first space behind column 80", () => {
    const words = Array.from({ length: 30 }, (_, index) => `word${index}`).join(" ");
    const lines = yamlText({ key: words }).trimEnd().split("\n");
    expect(lines.length).toBe(3);
    expect(lines[0]).toMatch(/^key: word0 .* word12$/);
    expect(lines.slice(1).every((line) => line.startsWith("  word"))).toBe(true);
    expect(yamlText({ key: `x: ${"y ".repeat(60)}` })).toContain("\n  y");
  });

  // W stands for a word that reaches beyond column 80.
  test.each([
    ["W  b  c d", "W  b  c\n  d"],
    ["W:  b  c d: ", "'W:  b  c\n  d: '"],
    ["W ", "'W '"],
    ["W\t  b  c d", '"W\\t\n  \\ b  c d"'],
    ["W\t ", '"W\\t "'],
  ])("breaks %j where no space is lost: %j", (text, written) => {
    const word = "w".repeat(84);
    expect(yamlText({ a: text.replace("W", word) })).toBe(`a: ${written.replace("W", word)}\n`);
  });

  test.each([
    [1, "1"],
    [-1.5, "-1.5"],
    [123456.5, "123456.5"],
    [1234567.5, "1.2345675e+06"],
    [0.00001, "1e-05"],
    [1e21, "1e+21"],
    [true, "true"],
  ])("writes the value %s as %s", (value, written) => {
    expect(yamlText({ a: value })).toBe(`a: ${written}\n`);
  });

  test("has letters last among keys, and counts digits as numbers", () => {
    const keys = ["b", "a10", "a2", "a-", "a/b", "_", "B", "a", "f:x", "."];
    const written = yamlText(Object.fromEntries(keys.map((key) => [key, 1])));
    expect(written.split(": 1\n").slice(0, -1)).toEqual([".", "_", "B", "a", "a-", "a/b", "a2", "a10", "b", "f:x"]);
  });

  test("reads back as what was written", () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom("a", " ", "\n", ":", "#", "-", "'", '"', "1", ".", "\t", "😀") }));
    const value = fc.letrec((tie) => ({
      any: fc.oneof({ depthSize: "small" }, text, fc.integer(), fc.boolean(), fc.array(tie("any")), fc.dictionary(text, tie("any"))),
    })).any;
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom("a", "b", "c"), value, { minKeys: 1 }), (object) => {
        const [document] = parseDocuments({ source: "x", text: yamlText(object) });
        expect(document).toEqual({ source: "x", value: JSON.parse(JSON.stringify(object)) as unknown });
      }),
    );
  });
});
