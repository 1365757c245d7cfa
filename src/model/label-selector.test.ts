import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LabelSelectorError, matchesLabels, parseLabelSelector } from "./label-selector.ts";

const red = { color: "red", size: "3", "example.com/tier": "web" };

describe("a label selector", () => {
  test.for([
    ["", true],
    ["color", true],
    ["shape", false],
    ["!shape", true],
    ["! color", false],
    ["color=red", true],
    ["color==red", true],
    ["color = blue", false],
    ["color!=blue", true],
    ["color!=red", false],
    ["shape!=round", true],
    ["shape=", false],
    ["color in (red,blue)", true],
    ["color in ( green , blue )", false],
    ["color in(red)", true],
    ["color notin (red,blue)", false],
    ["shape notin (round)", true],
    ["size>2", true],
    ["size > 3", false],
    ["size<4", true],
    ["color>1", false],
    ["color=red,size in (1,3),!shape", true],
    ["color=red, size=4", false],
    ["example.com/tier=web", true],
    ["toString", false],
  ] as const)("%s on a red object of size 3: %s", ([selector, matches]) => {
    expect(matchesLabels(parseLabelSelector(selector), red)).toBe(matches);
  });

  test("an object without labels meets only what asks for absence", () => {
    expect(matchesLabels(parseLabelSelector("!a,b!=c,d notin (e)"))).toBe(true);
    expect(matchesLabels(parseLabelSelector("a"))).toBe(false);
  });

  test.for([
    ["color in red", '"color in red" is no requirement'],
    ["color=red,,size", '"" is no requirement'],
    ["=red", '"=red" is no requirement'],
    ["color=>red", "is no requirement"],
    ["-color", '"-color" is no label key'],
    ["Example.COM/tier=web", '"Example.COM/tier" is no label key'],
    ["a/b/c", '"a/b/c" is no label key'],
    [`${"a".repeat(64)}=1`, "is no label key"],
    ["color=-red", "has a value that no label can have"],
    [`color in (red,${"a".repeat(64)})`, "has a value that no label can have"],
    ["size>big", '"size>big" is no requirement'],
  ] as const)("%s is refused with what is wrong: %s", ([selector, message]) => {
    expect(() => parseLabelSelector(selector)).toThrow(LabelSelectorError);
    expect(() => parseLabelSelector(selector)).toThrow(message);
    expect(() => parseLabelSelector(selector)).toThrow(`label selector "${selector}"`);
  });

  test("in and notin are opposites for every label that is there", () => {
    const word = fc.stringMatching(/^[a-z]{1,3}$/);
    fc.assert(
      fc.property(word, fc.array(word, { minLength: 1, maxLength: 4 }), (value, list) => {
        const labels = { key: value };
        const isIn = matchesLabels(parseLabelSelector(`key in (${list.join(",")})`), labels);
        const isNotIn = matchesLabels(parseLabelSelector(`key notin (${list.join(",")})`), labels);
        expect(isIn).toBe(list.includes(value));
        expect(isNotIn).toBe(!isIn);
      }),
    );
  });
});
