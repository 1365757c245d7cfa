import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { rehearseCommand } from "./rehearsal.ts";
import { runnerProgram } from "./steps/runner-program.ts";

test.skipIf(process.getuid?.() !== 0)("a rehearsed command is started and ends", async () => {
  const folder = await mkdtemp(join(tmpdir(), "agentbox-rehearsal-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const runner = join(folder, "step-runner");
  await writeFile(runner, runnerProgram(process.arch), { mode: 0o755 });
  expect(await rehearseCommand(runner)).toMatch(/200 [^]*"start":[^]*"exit status 0"/);
});

test("a rehearsal that cannot start anything ends as well", async () => {
  expect(await rehearseCommand("/nowhere/step-runner")).toMatch(/200 [^]*"error":/);
});
