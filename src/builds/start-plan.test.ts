import { expect, test } from "vitest";
import { isOnlyWaiting, readyCommandOf, startCommand } from "./start-plan.ts";

test("a start command without a ready command is waited for as E2B does, and none of both for nothing", () => {
  expect(readyCommandOf({ startCmd: "serve", readyCmd: "" })).toBe("sleep 20");
  expect(readyCommandOf({ startCmd: "", readyCmd: "" })).toBe("");
  expect(readyCommandOf({ startCmd: "serve", readyCmd: "curl -f x" })).toBe("curl -f x");
});

test("a command that only sleeps says nothing of the program", () => {
  expect(isOnlyWaiting("sleep 20")).toBe(true);
  expect(isOnlyWaiting(" sleep 0.5s ")).toBe(true);
  expect(isOnlyWaiting("sleep 1 && curl x")).toBe(false);
});

test("the start command gets the folder and the variables of the last step, whatever is in them", () => {
  const context = { user: "u", workdir: "/a b", env: { X: "1 $Y" } };
  const argv = startCommand({ startCmd: "serve 'x'", readyCmd: "", context });
  expect(argv.slice(0, 2)).toEqual(["/usr/bin/env", "X=1 $Y"]);
  expect(argv.slice(-2)).toEqual(["/a b", "serve 'x'"]);
});
