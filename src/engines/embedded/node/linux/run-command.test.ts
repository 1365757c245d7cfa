import { expect, test } from "vitest";
import { CommandError, runCommand } from "./run-command.ts";

test("a command's output is given, and its input taken", async () => {
  expect(await runCommand(["cat"], { input: "hello" })).toBe("hello");
  expect(await runCommand(["pwd"], { cwd: "/usr" })).toBe("/usr\n");
});

test("a command that fails says what it said", async () => {
  const failed = runCommand(["sh", "-c", "echo no >&2; exit 3"]);
  await expect(failed).rejects.toThrow(new CommandError(["sh", "-c", "echo no >&2; exit 3"], "exit code 3", "no"));
  await expect(runCommand(["sh", "-c", "kill -9 $$"])).rejects.toThrow("killed by SIGKILL");
});

test("a command that is missing is named with what installs it", async () => {
  await expect(runCommand(["no-such-command"], { install: "apt-get install it" })).rejects.toThrow(
    "no-such-command: not found on PATH; install it with: apt-get install it",
  );
});

test("a command that does not read its input is judged by its exit code", async () => {
  expect(await runCommand(["true"], { input: "x".repeat(1_000_000) })).toBe("");
});
