import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { goJson } from "./go-json.ts";

describe("JSON as Go writes it", () => {
  test("has its keys in order, also those that look like numbers", () => {
    expect(goJson({ b: 1, 10: 2, a: { z: [], y: {} }, 9: null })).toBe('{"10":2,"9":null,"a":{"y":{},"z":[]},"b":1}');
  });

  test("escapes what could end a script or a line", () => {
    expect(goJson({ "<k>": "a<b>&c\u2028\u2029" })).toBe(String.raw`{"\u003ck\u003e":"a\u003cb\u003e\u0026c\u2028\u2029"}`);
  });

  test("is indented by four spaces where kubectl prints it", () => {
    expect(goJson({ a: [1, { b: true }], c: [] }, "    ")).toBe(
      '{\n    "a": [\n        1,\n        {\n            "b": true\n        }\n    ],\n    "c": []\n}',
    );
  });

  test("leaves out what is undefined", () => {
    expect(goJson({ a: undefined, b: 1 })).toBe('{"b":1}');
  });

  test("reads back as what was written, with and without indent", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom("", "    "), (value, indent) => {
        expect(JSON.parse(goJson(value, indent))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});
