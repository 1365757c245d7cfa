import { expect, test } from "vitest";
import { expandVariables, firstContext, joinedPath, withVariables } from "./build-context.ts";

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

test("a relative folder is below the present one, and nothing leads out of the root", () => {
  expect(joinedPath("/home/user", "app/./x")).toBe("/home/user/app/x");
  expect(joinedPath("/srv", "/a//b/")).toBe("/a/b");
  expect(joinedPath("/srv", "../../..")).toBe("/");
});
