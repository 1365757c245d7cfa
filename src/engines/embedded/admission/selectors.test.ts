import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isApiError } from "#kube/api-error.ts";
import { parseFieldSelector, parseLabelSelector } from "./selectors.ts";

const labels = { app: "web", tier: "2", empty: "", in: "notin" };

describe("label selectors", () => {
  test.each([
    ["", true],
    ["  ", true],
    ["app", true],
    ["nope", false],
    ["!app", false],
    ["! nope", true],
    ["app=web", true],
    ["app==web", true],
    ["app = web , tier", true],
    ["app=web,nope", false],
    ["app!=web", false],
    ["app!=db", true],
    ["nope!=web", true],
    ["nope=web", false],
    ["app in (web,db)", true],
    ["app in(web)", true],
    ["app in (db)", false],
    ["nope in (web)", false],
    ["app notin (db)", true],
    ["app notin ( web , db )", false],
    ["nope notin (web)", true],
    ["empty=", true],
    ["empty in ()", true],
    ["empty in (,web)", true],
    ["app in (,)", false],
    ["tier>1", true],
    ["tier>2", false],
    ["tier<3", true],
    ["app>1", false],
    ["nope<1", false],
    ["in=notin", true],
    ["in in (in,notin)", true],
  ])("%o answers %s", (selector, expected) => {
    expect(parseLabelSelector(selector)(labels)).toBe(expected);
  });

  test("objects without labels match as if they had an empty map of them", () => {
    expect(parseLabelSelector("app!=web")(undefined)).toBe(true);
    expect(parseLabelSelector("app")(undefined)).toBe(false);
  });

  test("what Object.prototype has is no label", () => {
    expect(parseLabelSelector("constructor")({})).toBe(false);
  });

  // Words of a kube-apiserver 1.36.3.
  test.each([
    ["a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ["a gt 1", "unable to parse requirement: found 'gt', expected: in, notin, =, ==, !=, gt, lt"],
    ["=b", "found '=', expected: !, identifier, or 'end of string'"],
    ["(a)", "found '(', expected: !, identifier, or 'end of string'"],
    ["a=b,", "found '', expected: identifier after ','"],
    ["a,,b", "found ',', expected: identifier after ','"],
    ["a=b c", "found 'c', expected: ',' or 'end of string'"],
    ["a=b=c", "found '=', expected: ',' or 'end of string'"],
    ["!a=b", "found '=', expected: ',' or 'end of string'"],
    ["!", "unable to parse requirement: found '', expected: identifier"],
    ["a===b", "unable to parse requirement: found '=', expected: identifier"],
    ["a in x", "unable to parse requirement: found 'x' expected: '('"],
    ["a in (x", "unable to parse requirement: found '', expected: ',' or ')'"],
    ["a in (x y)", "unable to parse requirement: found 'y', expected: ',' or ')'"],
    ["a>x", "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer"],
    [
      "a>9223372036854775808",
      "unable to parse requirement: values[0]: Invalid value: \"9223372036854775808\": for 'Gt', 'Lt' operators, the value must be an integer",
    ],
  ])("%o is a bad request", (selector, message) => {
    expect(() => parseLabelSelector(selector)).toThrow(message);
  });

  test.each(["a=-", "a in (b,-)", "-a", "a/b/c", "a>-5"])("%o breaks the syntax of keys or values", (selector) => {
    expect(() => parseLabelSelector(selector)).toThrow(
      /^unable to parse requirement: (?:<nil>|values\[0\]\[a\]): Invalid value: ".*must consist|consist of/,
    );
  });

  const key = fc.constantFrom("a", "b", "x.y/c");
  const value = fc.constantFrom("", "1", "v", "w");
  const someLabels = fc.dictionary(key, value);

  test("= and != of the same label are opposites, and so are in and notin, and key and !key", () => {
    fc.assert(
      fc.property(key, value, someLabels, (k, v, given) => {
        for (const [one, other] of [
          [`${k}=${v}`, `${k}!=${v}`],
          [`${k} in (${v},z)`, `${k} notin (${v},z)`],
          [k, `!${k}`],
        ] as const) {
          expect(parseLabelSelector(one)(given)).toBe(!parseLabelSelector(other)(given));
        }
      }),
    );
  });

  test("a list of requirements is met when each of them is", () => {
    const requirement = fc.oneof(
      key,
      key.map((k) => `!${k}`),
      fc.tuple(key, fc.constantFrom("=", "!="), value).map((parts) => parts.join("")),
      fc.tuple(key, fc.constantFrom(" in ", " notin "), value).map(([k, op, v]) => `${k}${op}(${v})`),
    );
    fc.assert(
      fc.property(fc.array(requirement, { minLength: 1 }), someLabels, (requirements, given) => {
        const each = requirements.every((one) => parseLabelSelector(one)(given));
        expect(parseLabelSelector(requirements.join(" , "))(given)).toBe(each);
      }),
    );
  });

  test("whatever is typed is read or is a bad request", () => {
    const characters = ["a", "b", "1", "=", "!", "(", ")", ",", "<", ">", " ", " in ", " notin "];
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...characters) }), (text) => {
        expect(["read", "BadRequest"]).toContain(outcomeOf(text));
      }),
    );
  });
});

function outcomeOf(selector: string): string {
  try {
    parseLabelSelector(selector)(labels);
    return "read";
  } catch (error) {
    return isApiError(error) ? error.reason : "crash";
  }
}

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
