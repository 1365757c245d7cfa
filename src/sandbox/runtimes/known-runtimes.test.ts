import { expect, test } from "vitest";
import { runtimeProblem } from "./known-runtimes.ts";

test.each([
  [{ name: "e2b" }],
  [{ name: "e2b", config: {} }],
  [{ name: "swerex", config: { mode: "process", user: "user" } }],
  [{ name: "my-own", config: { anything: [1, { deep: true }] } }],
])("%j is as it may be", (runtime) => {
  expect(runtimeProblem([{ name: "first" }, runtime])).toBeUndefined();
});

test.each([
  [{ name: "e2b", config: { a: 1 } }, 'has no setting "a"; this runtime has none'],
  [{ name: "code-interpreter", config: { a: 1 } }, 'has no setting "a"; this runtime has none'],
  [{ name: "swerex", config: { mod: "process" } }, 'has no setting "mod"; there are mode, user'],
  [{ name: "swerex", config: { mode: "both" } }, 'mode must be served or process, not "both"'],
  [{ name: "swerex", config: { user: "a b" } }, 'user must be the name of a user of the image, not "a b"'],
  [{ name: "my-own", config: { a: "x".repeat(70_000) } }, "bytes of JSON; there may be 65536"],
])("%j is refused with the field", (runtime, message) => {
  const problem = runtimeProblem([{ name: "first" }, runtime]);
  expect(problem?.field).toBe("spec.runtimes[1].config");
  expect(problem?.message).toContain(message);
});
