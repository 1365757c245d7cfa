import { describe, expect, test } from "vitest";
import { nested } from "../../test/world/nested-json.ts";
import { isTooDeep, maxJsonDepth } from "./json-depth.ts";

describe("JSON", () => {
  test.for<[string, unknown, boolean]>([
    ["a plain value", 1, false],
    ["null", null, false],
    ["as deep as may be", nested(maxJsonDepth), false],
    ["one level deeper", nested(maxJsonDepth + 1), true],
    ["so deep that no recursion would come back", nested(100_000), true],
    ["deep in the last of its fields", { a: 1, b: [{}, nested(maxJsonDepth)] }, true],
    ["wide but flat", Array.from({ length: 10_000 }, () => ({})), false],
  ])("%s is too deep or not", ([, value, tooDeep]) => {
    expect(isTooDeep(value)).toBe(tooDeep);
  });
});
