import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import { readStat } from "./processes.ts";
import { ownerOfShell, quoted, runSmall, withSmallShell } from "./small-shell.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-shell-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a command in a small shell", () => {
  test("gives its exit code, or that of the signal that ended it", async () => {
    expect(await Promise.all([["true"], ["sh", "-c", "exit 7"], ["sh", "-c", "kill -9 $$"]].map((argv) => runSmall({ argv })))).toEqual([
      0, 7, 137,
    ]);
  });

  test("that is not on this machine ends as a shell says it", async () => {
    expect(await runSmall({ argv: ["no-such-command"] })).toBe(127);
  });

  test("has its output appended to a file, stderr included, and reads nothing", async () => {
    const output = join(folder, "it's one");
    await runSmall({ argv: ["sh", "-c", "cat; echo out; echo err >&2"], output });
    await runSmall({ argv: ["echo", "more"], output });
    expect(readFileSync(output, "utf8")).toBe("out\nerr\nmore\n");
  });

  test("gets its words as they are, whatever is in them", async () => {
    const word = fc.string({ unit: fc.constantFrom("'", '"', "$", "`", "\\", "\n", " ", "*", ";", "a", "ä") });
    let count = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 4 }), async (words) => {
        const output = join(folder, `words-${count++}`);
        await runSmall({ argv: ["printf", "%s\\0", ...words], output });
        expect(readFileSync(output, "utf8").split("\0").slice(0, -1)).toEqual(words);
      }),
      { numRuns: 30 },
    );
    expect(quoted("it's")).toBe(String.raw`'it'\''s'`);
  });

  test("waits when too many run, and all of them end", async () => {
    expect(new Set(await Promise.all(Array.from({ length: 50 }, () => runSmall({ argv: ["sleep", "0.01"] }))))).toEqual(new Set([0]));
  });
});

describe("a command that is not to go on", () => {
  test("is killed with all that it has started, and its shell with it", async () => {
    const output = join(folder, "pids");
    const stop = new AbortController();
    const running = runSmall({ argv: ["sh", "-c", "echo $$; setsid sleep 1000 & echo $!; wait"], output, signal: stop.signal });
    await expect.poll(() => pidsIn(output)).toHaveLength(2);
    stop.abort(new Error("no longer wanted"));
    await expect(running).rejects.toThrow("no longer wanted");
    await expect.poll(() => pidsIn(output).filter(isRunning)).toEqual([]);
    expect(await runSmall({ argv: ["true"] })).toBe(0);
  });

  test("does not wait for a shell either", async () => {
    const stop = new AbortController();
    const busy = Array.from({ length: 48 }, () => runSmall({ argv: ["sleep", "1000"], signal: stop.signal }));
    const leave = new AbortController();
    const waiting = runSmall({ argv: ["true"], signal: leave.signal });
    leave.abort(new Error("left the queue"));
    await expect(waiting).rejects.toThrow("left the queue");
    stop.abort(new Error("enough"));
    expect((await Promise.allSettled(busy)).every(({ status }) => status === "rejected")).toBe(true);
    expect(await runSmall({ argv: ["true"] })).toBe(0);
  });
});

function pidsIn(file: string): number[] {
  return (readIfPresent(file) ?? "").trim().split("\n").filter(Boolean).map(Number);
}

function isRunning(pid: number): boolean {
  return !["Z", undefined].includes(readStat(pid)?.state);
}

describe("a shell", () => {
  test("of which nobody knows what it does is not used again", async () => {
    const used = withSmallShell(async (shell) => {
      shell.send("sleep 100; echo late\n");
      throw new Error("changed my mind");
    });
    await expect(used).rejects.toThrow("changed my mind");
    expect(await runSmall({ argv: ["true"] })).toBe(0);
  });

  test("that ends under its user is a failure, and the next user gets another one", async () => {
    const used = withSmallShell(async (shell) => {
      shell.send("exit 0\n");
      return shell.line();
    });
    await expect(used).rejects.toThrow("has ended");
    expect(await runSmall({ argv: ["true"] })).toBe(0);
  });
});

test("a shell says by its command line whose it is, and nothing else does", () => {
  expect(ownerOfShell(["/bin/sh", "-s", "agentbox-4242", ""])).toBe(4242);
  for (const other of [["/bin/sh"], ["/bin/sh", "-c", "agentbox-1"], ["/bin/sh", "-s", "agentbox-x"], []])
    expect(ownerOfShell(other)).toBeUndefined();
});
