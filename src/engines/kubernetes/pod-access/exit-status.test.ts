import { expect, test } from "vitest";
import { exitCodeOf, type Exit } from "./exit-status.ts";

const cases: readonly [string, string, Exit][] = [
  ["success", '{"metadata":{},"status":"Success"}', { kind: "exited", code: 0 }],
  [
    "an exit code",
    '{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"137"}]}}',
    { kind: "exited", code: 137 },
  ],
  [
    "a command that could not be started",
    '{"status":"Failure","message":"Internal error occurred: exec: \\"x\\": executable file not found in $PATH","reason":"InternalError","code":500}',
    { kind: "failed", why: 'Internal error occurred: exec: "x": executable file not found in $PATH' },
  ],
  ["nonsense", "]", { kind: "failed", why: "the node does not say how the command ended" }],
  ["nothing", "null", { kind: "failed", why: "the node does not say how the command ended" }],
];
test.each(cases)("%s is understood", (_, text, exit) => {
  expect(exitCodeOf(text)).toEqual(exit);
});
