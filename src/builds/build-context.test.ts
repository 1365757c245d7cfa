import { expect, test } from "vitest";
import { expandVariables, firstContext, joinedPath, mostVariableText, withVariables } from "./build-context.ts";

test("a value sees the variables before it, also of its own step, and those of the machine", () => {
  const after = withVariables(
    firstContext,
    [
      ["A", "1"],
      ["PATH", "/own/$A:$PATH"],
    ],
    { PATH: "/usr/bin" },
  );
  expect(after.env).toEqual({ A: "1", PATH: "/own/1:/usr/bin" });
  expect(withVariables(after, [["PATH", "/x:${PATH}"]], { PATH: "/usr/bin" }).env["PATH"]).toBe("/x:/own/1:/usr/bin");
});

test("only variables have a meaning: backticks and $( stay as they are written", () => {
  expect(expandVariables("`id` $(id) \\$A $A$B ${A}x $1 $", { A: "a" })).toBe("`id` $(id) $A a ax $1 $");
  expect(expandVariables("$constructor", {})).toBe("");
});

test("values that name each other do not grow without end", () => {
  const doubling = Array.from({ length: 60 }, () => ["A", "$A$A"] as const);
  expect(() => withVariables(firstContext, [["A", "x"], ...doubling], {})).toThrow("may have 65536 characters");
  const large = "x".repeat(40_000);
  expect(() => expandVariables("$A$A", { A: large })).toThrow("may have 65536 characters");
  expect(() => withVariables({ ...firstContext, env: { A: large } }, [["B", large]], {})).toThrow("may have 65536 characters");
  const others = [
    ["A", "y"],
    ["B", large],
  ] as const;
  expect(withVariables({ ...firstContext, env: { A: large } }, others, {}).env["B"]).toHaveLength(40_000);
});

test("a step with very many variables takes no long time", () => {
  const pairs = Array.from({ length: 8000 }, (_, n) => [`V${n}`, "$V0"] as const);
  const began = performance.now();
  expect(Object.keys(withVariables(firstContext, pairs, {}).env)).toHaveLength(8000);
  expect(performance.now() - began).toBeLessThan(1000);
  expect(mostVariableText).toBe(64 * 1024);
});

test("a relative folder is below the present one, and nothing leads out of the root", () => {
  expect(joinedPath("/home/user", "app/./x")).toBe("/home/user/app/x");
  expect(joinedPath("/srv", "/a//b/")).toBe("/a/b");
  expect(joinedPath("/srv", "../../..")).toBe("/");
});
