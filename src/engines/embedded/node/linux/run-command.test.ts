import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import { SteppedClock } from "../../../../../test/world/stepped-clock.ts";
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

describe("a command that never ends", () => {
  test("is killed when it has done nothing for a while, with everything that it has started", async () => {
    const word = `hung-${randomUUID()}`;
    const clock = new SteppedClock();
    const running = runCommand(["sh", "-c", `setsid sh -c 'sleep 1000; : ${word}' & wait`], { clock });
    await expect.poll(() => processesWith(word).length).toBeGreaterThan(1);
    await expect(givenUp(running, clock)).resolves.toBe("sh did nothing for 60 s, and was killed");
    await expect.poll(() => processesWith(word)).toEqual([]);
  });

  test("is not waited for when what holds its output open has left its tree", async () => {
    const clock = new SteppedClock();
    const running = runCommand(["sh", "-c", "setsid sleep 5 &"], { clock });
    await expect(givenUp(running, clock)).resolves.toMatch("did nothing for 60 s");
  });
});

/** Lets time pass until the command is given up; the text of the error. */
async function givenUp(running: Promise<unknown>, clock: SteppedClock): Promise<string> {
  let why: string | undefined;
  running.catch((error: Error) => (why = error.message));
  await expect
    .poll(async () => {
      await clock.step(15_000);
      return why;
    })
    .toBeDefined();
  return why ?? "";
}

function processesWith(word: string): string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => readIfPresent(`/proc/${pid}/cmdline`)?.includes(word) === true);
}
