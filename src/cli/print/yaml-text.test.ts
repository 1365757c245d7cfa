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

  test.each(["plain", "http://x:80/y", "a:b", "x#y", "10Gi", "1.2.3", "-a", "?x", "<<", "0b2", "é", "😀"])(
    "writes the text %j without quotes",
    (text) => expect(yamlText({ a: text })).toBe(`a: ${text}\n`),
  );

  // Each of them is something else than text to some reader of YAML.
  test.each(
    '"" ~ null yes No TRUE y 1 -1 +1 1. .5 1e3 08 0x1f 0o7 -0b1 1_000 12:30 .inf -.Inf .NaN 2026-01-01 2026-01-01T00:00:00Z'
      .split(" ")
      .map((text) => text.replaceAll('"', "")),
  )("quotes the text %j", (text) => expect(yamlText({ a: text })).toBe(`a: "${text}"\n`));

  test.each(["a: b", "a:", "a #b", "#x", "- a", "-", " a", "a ", "*x", "{x", "[x", "%x", "@x"])(
    "quotes %j, which YAML would read otherwise",
    (text) => {
      expect(yamlText({ a: text })).toBe(`a: '${text}'\n`);
    },
  );

  test.each([
    ["tab\tx", '"tab\\tx"'],
    ["a\rb", '"a\\rb"'],
    ["\u0001", '"\\x01"'],
    ["\u001b[2J", '"\\e[2J"'],
    ["\u009b2J", '"\\u009b2J"'],
    ["\u2028", '"\\u2028"'],
  ])("escapes what cannot be seen in %j", (text, written) => {
    expect(yamlText({ a: text })).toBe(`a: ${written}\n`);
  });

  test.each([
    ["a\nb", "|-\n  a\n  b"],
    ["a\nb\n", "|\n  a\n  b"],
    ["a\n\nb", "|-\n  a\n\n  b"],
    [" a\n  b\n", "|2\n   a\n    b"],
  ])("writes the lines %j as a block: %j", (text, written) => {
    expect(yamlText({ a: text })).toBe(`a: ${written}\n`);
  });

  test("keeps a long text on one line, so that it can be copied", () => {
    const words = Array.from({ length: 60 }, (_, index) => `word${index}`).join(" ");
    expect(yamlText({ key: words })).toBe(`key: ${words}\n`);
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
