import { expect, test } from "vitest";
import { startFailure } from "./start-failure.ts";

const before = "exec failed: unable to start container process: ";

test.each([
  [`${before}exec: "nope": executable file not found in $PATH: unknown`, "not-found", 'there is no program "nope" in PATH'],
  ["executable file `nope` not found in $PATH: No such file or directory", "not-found", 'there is no program "nope" in PATH'],
  ['starting container: error finding executable "nope" in PATH [/bin]: no such file or directory', "not-found", "in PATH"],
  [`${before}exec: "nope": stat nope: no such file or directory`, "not-found", 'there is no program "nope"'],
  [`${before}exec /bin/nope: no such file or directory`, "not-found", "needs an interpreter"],
  [`${before}exec: "nope": permission denied`, "not-executable", "may not be executed"],
  [`${before}exec: "nope": is a directory`, "not-executable", "is a directory"],
  [`${before}exec /bin/nope: exec format error`, "not-executable", "not a program for this machine"],
  [`${before}chdir to cwd ("/no") set in config.json failed: no such file or directory`, "workingDir", 'the folder "/no"'],
  ["chdir to `/no`: No such file or directory", "workingDir", 'the folder "/no"'],
  [`${before}exec /bin/nope: argument list too long`, "too-long", "longer than the kernel takes"],
])("%s", (said, fault, text) => {
  const failure = startFailure(new Error(`runc exec: ${said}`), ["nope"], "/no");
  expect(failure.fault).toBe(fault);
  expect(failure.message).toContain(text);
});

test("what nobody knows is not shown: it may name things of the machine", () => {
  const failure = startFailure(new Error("runc exec: cannot open /var/lib/agentbox/x"), ["ls"]);
  expect([failure.fault, failure.message]).toEqual(["other", "the command could not be run; the server's log says why"]);
});
