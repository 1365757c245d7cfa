import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { publicKeyText } from "#envd-protocol/arming.ts";
import { ArmedState } from "./armed-state.ts";
import { noProgram } from "./own-program.ts";
import { rehearseCommand, rehearseInit } from "./rehearsal.ts";
import { envdServer } from "./server.ts";
import { runnerProgram } from "./steps/runner-program.ts";

test("a rehearsed /init goes as far as its signature, and arms nobody", async () => {
  const controlPlaneKey = publicKeyText(generateKeyPairSync("ed25519").publicKey);
  const state = new ArmedState();
  const server = envdServer(
    { podUid: "pod-1", bootId: "boot-1", controlPlaneKey },
    { state, runner: "none", program: noProgram, endProcesses: async () => true },
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  expect(await rehearseInit((server.address() as AddressInfo).port)).toMatch(/401 [^]*the signature is not the control plane's/);
  expect(state.sandboxId).toBeUndefined();
});

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
