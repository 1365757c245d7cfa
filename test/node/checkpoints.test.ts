/** Checkpoints of real sandboxes of one machine: the stories of all engines, and what is left behind when the server is killed. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { CheckpointApi, describeCheckpointStories } from "../world/checkpoint-stories.ts";
import { UpProcess } from "../world/up-process.ts";

async function openUp(): Promise<UpProcess> {
  const up = await UpProcess.onNewFolder();
  await up.start();
  return up;
}

describeCheckpointStories({
  open: openUp,
  keepsAll: true,
  images: async (up) => (await readdir(join(up.home, "images/names"))).length,
});

describe("a checkpoint", () => {
  let up: UpProcess;
  let api: CheckpointApi;
  beforeAll(async () => {
    up = await openUp();
    api = new CheckpointApi(up);
  });
  afterAll(() => up[Symbol.asyncDispose]());
  const ask: CheckpointApi["ask"] = (...args) => api.ask(...args);

  test("leaves nothing when the server is killed while it is taken, and the sandbox runs", async () => {
    const id = await api.sandboxFrom("base");
    await up.agentbox("exec", id, "--", "sh", "-c", "head -c 300M /dev/urandom > ~/large");
    const killed = [5, 60, 150, 400];
    for (const afterMs of killed) {
      const taking = ask("POST", `/sandboxes/${id}/checkpoints`, {}).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      await up.process.kill();
      await taking;
      await up.start();
      expect((await up.agentbox("exec", id, "--", "echo", "alive")).stdout).toBe("alive\n");
      await expect.poll(async () => (await phasesOf(id)).filter((phase) => phase !== "Succeeded"), { timeout: 60_000 }).toEqual([]);
    }
    for (const one of (await ask("GET", "/checkpoints")).body.checkpoints ?? []) await ask("DELETE", `/checkpoints/${one.id}`);
    const left = (folder: string): Promise<string[]> => readdir(join(up.home, "images", folder));
    await ask("DELETE", `/sandboxes/${id}`);
    await expect.poll(async () => [...(await left("names")), ...(await left("layers"))], { timeout: 60_000 }).toEqual([]);
    // The folder of the process that runs is there, and nothing is in it; those of the killed ones are gone.
    const drafts = (await left("tmp")).filter((name) => name !== "owners");
    expect(drafts).toHaveLength(1);
    await expect.poll(() => left(`tmp/${drafts[0] ?? ""}`)).toEqual([]);
  });

  async function phasesOf(sandboxId: string): Promise<readonly string[]> {
    return ((await ask("GET", `/checkpoints?sandboxId=${sandboxId}`)).body.checkpoints ?? []).map(({ phase }) => phase);
  }
});
