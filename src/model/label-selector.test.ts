import fc from "fast-check";
import { expect, test } from "vitest";
import { LabelSelectorError, matchesLabels, parseLabelSelector } from "./label-selector.ts";

const labels = { app: "web", tier: "2", empty: "", in: "notin", "example.com/zone": "a" };

function matches(selector: string, given: Readonly<Record<string, string>> | undefined): boolean {
  return matchesLabels(parseLabelSelector(selector), given);
}

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
  ["example.com/zone=a", true],
  ["app=web,tier in (1,2),!nope", true],
  ["app=web, tier=4", false],
  ["in in (in,notin)", true],
])("%o answers %s", (selector, expected) => {
  expect(matches(selector, labels)).toBe(expected);
});

test("objects without labels match as if they had an empty map of them", () => {
  expect(matches("app!=web", undefined)).toBe(true);
  expect(matches("app", undefined)).toBe(false);
});

test("what Object.prototype has is no label", () => {
  expect(matches("constructor", {})).toBe(false);
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
])("%o is refused in the words of the API server", (selector, message) => {
  expect(() => parseLabelSelector(selector)).toThrow(new LabelSelectorError(selector, message));
});

test.each(["a=-", "a in (b,-)", "-a", "a/b/c", "a>-5", "Example.COM/tier=web"])("%o breaks the syntax of keys or values", (selector) => {
  expect(() => parseLabelSelector(selector)).toThrow(
    /: unable to parse requirement: (?:<nil>|values\[\d\]\[a\]): Invalid value: ".*(?:must consist|consist of)/,
  );
});

const key = fc.constantFrom("a", "b", "x.y/c");
const value = fc.constantFrom("", "1", "v", "w");
const someLabels = fc.dictionary(key, value);

test("keys have at most 63 characters after the domain, values at most 63", () => {
  const long = "a".repeat(64);
  expect(() => parseLabelSelector(`${long}=1`)).toThrow("must be no more than 63 bytes");
  expect(() => parseLabelSelector(`a in (b,${long})`)).toThrow("must be no more than 63 bytes");
});

test("the error names the selector", () => {
  expect(() => parseLabelSelector("a b")).toThrow("label selector \"a b\": unable to parse requirement: found 'b'");
});

test("= and != of the same label are opposites, and so are in and notin, and key and !key", () => {
  fc.assert(
    fc.property(key, value, someLabels, (k, v, given) => {
      for (const [one, other] of [
        [`${k}=${v}`, `${k}!=${v}`],
        [`${k} in (${v},z)`, `${k} notin (${v},z)`],
        [k, `!${k}`],
      ] as const) {
        expect(matches(one, given)).toBe(!matches(other, given));
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
      const each = requirements.every((one) => matches(one, given));
      expect(matches(requirements.join(" , "), given)).toBe(each);
    }),
  );
});

test("any text is read, or refused with a LabelSelectorError", () => {
  const characters = ["a", "b", "1", "=", "!", "(", ")", ",", "<", ">", " ", " in ", " notin "];
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...characters) }), (text) => {
      expect(["read", "refused"]).toContain(outcomeOf(text));
    }),
  );
});

function outcomeOf(selector: string): string {
  try {
    parseLabelSelector(selector);
    return "read";
  } catch (error) {
    return error instanceof LabelSelectorError ? "refused" : "crash";
  }
}
