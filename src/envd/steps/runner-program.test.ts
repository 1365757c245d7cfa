import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { codeOf, runnerProgram, type Machine } from "./runner-program.ts";
import { readReply, ScriptTooLong, writeScript, type Step } from "./script.ts";
import { StepChild } from "./step-child.ts";

let folder = "";
let runner = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-steps-"));
  runner = join(folder, "step-runner");
  writeFileSync(runner, runnerProgram(process.arch));
  chmodSync(runner, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const assemblers: readonly [Machine, string][] = [
  ["x64", process.arch === "x64" ? "" : "x86_64-linux-gnu-"],
  ["arm64", process.arch === "arm64" ? "" : "aarch64-linux-gnu-"],
];
for (const [machine, prefix] of assemblers) {
  const isThere = spawnSync(`${prefix}as`, ["--version"]).status === 0;
  test.skipIf(!isThere)(`the machine code for ${machine} is what its assembler makes of the source`, () => {
    const [object, binary] = [join(folder, `${machine}.o`), join(folder, `${machine}.bin`)];
    execFileSync(`${prefix}as`, ["-o", object, join(import.meta.dirname, `step-runner.${machine}.s`)]);
    execFileSync(`${prefix}objcopy`, ["-O", "binary", "-j", ".text", object, binary]);
    expect(codeOf(machine).equals(execFileSync("cat", [binary]))).toBe(true);
  });
}

const emulator = "qemu-aarch64-static";
test.skipIf(process.arch !== "x64" || spawnSync(emulator, ["--version"]).status !== 0)(
  "the runner for arm64 makes its steps, emulated",
  () => {
    const program = join(folder, "arm64");
    writeFileSync(program, runnerProgram("arm64"));
    chmodSync(program, 0o755);
    const steps: Step[] = [
      { call: "close", args: [99], mayFail: true },
      { call: "write", args: [1, "told", 4] },
    ];
    const script = writeScript("arm64", steps, true);
    const input = join(folder, "script");
    writeFileSync(input, script.bytes);
    // Descriptor 3 is read and written; a file of the script takes the reply behind it.
    const { stdout } = spawnSync("sh", ["-c", `exec 3<>${input}; exec ${emulator} ${program}`]);
    expect(stdout.toString()).toBe("told");
    const reply = readReply(script, steps.length, execFileSync("cat", [input]).subarray(script.bytes.length));
    expect(reply?.results).toEqual([-9, 4]);
  },
);

test("steps are made in their order, and the first that must not fail ends the script", async () => {
  const child = new StepChild({ runner });
  const missing = await child.run([
    { call: "close", args: [99], mayFail: true },
    { call: "chdir", args: ["/nowhere"] },
    { call: "chdir", args: ["/"] },
  ]);
  expect(missing?.failed).toEqual({ step: 1, errno: 2 });
  const room = { room: 8 };
  const pipe = await child.run([{ call: "pipe2", args: [room, 0] }], true);
  expect([pipe?.contents(room).readInt32LE(0), pipe?.contents(room).readInt32LE(4)]).toEqual([4, 5]);
  child.letGo();
  expect(await child.ended).toEqual({ code: 0, signal: null });
});

test("a runner that becomes another program gives no answer, and its end is that program's", async () => {
  const child = new StepChild({ runner });
  const steps: Step[] = [
    { call: "fcntl", args: [3, 2, 1] },
    { call: "execve", args: ["/bin/sh", ["sh", "-c", "exit $CODE"], ["CODE=5"]] },
  ];
  expect(await child.run(steps)).toBeUndefined();
  expect(await child.ended).toEqual({ code: 5, signal: null });
});

test("a script beyond the runner's memory is not sent", () => {
  expect(() => writeScript("x64", [{ call: "chdir", args: ["x".repeat(5_000_000)] }], false)).toThrow(ScriptTooLong);
});

test("an unknown machine is told", () => {
  expect(() => runnerProgram("riscv64")).toThrow("written for x64 and arm64");
});
