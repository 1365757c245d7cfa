import { expect, test } from "vitest";
import { withoutUndefined } from "./without-undefined.ts";

test("only undefined fields are left out", () => {
  const kept = withoutUndefined({ a: 0, b: undefined, c: "", d: false, e: null });
  expect(Object.keys(kept)).toEqual(["a", "c", "d", "e"]);
});
