/** Sandboxes that are paused without memory: real containers and images of a real server. `make crash-test-checkpoints` kills it where it hurts. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { UpProcess } from "../world/up-process.ts";

/** As much of every answer as the cases read. */
interface Answer {
  readonly sandbox?: { readonly sandboxId: string; readonly status: string; readonly claimedAt: string };
  readonly sandboxes?: readonly { readonly sandboxId: string; readonly status: string }[];
  readonly checkpoints?: readonly { readonly id: string }[];
  readonly field?: string;
}

describe("a sandbox that is paused without memory", () => {
  let up: UpProcess;
  let api: { readonly url: string; readonly apiKey: string };
  beforeAll(async () => {
    up = await UpProcess.onNewFolder();
    await up.start();
    api = await up.access();
  });
  afterAll(() => up[Symbol.asyncDispose]());

  async function ask(method: string, path: string, body?: object): Promise<{ readonly status: number; readonly body: Answer }> {
    const headers = { "x-api-key": api.apiKey, ...(body === undefined ? {} : { "content-type": "application/json" }) };
    const answer = await fetch(`${api.url}/v1${path}`, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? {} : (JSON.parse(text) as Answer) };
  }

  async function sandbox(more: object = {}): Promise<string> {
    const { status, body } = await ask("POST", "/sandboxes", { poolName: "base", lifetime: "10m", ...more });
    expect(status).toBe(201);
    return body.sandbox?.sandboxId ?? "";
  }

  const sh = async (id: string, script: string): Promise<string> => (await up.agentbox("exec", id, "--", "sh", "-c", script)).stdout;
  const statusOf = async (id: string): Promise<string | undefined> => (await ask("GET", `/sandboxes/${id}`)).body.sandbox?.status;

  test("has no container and no process, and is back under its id with its files and variables", async () => {
    const id = await sandbox({ envVars: { SECRET: "of-the-user" }, metadata: { purpose: "test" } });
    await sh(id, "echo kept > ~/note; nohup sleep 12345 >/dev/null 2>&1 &");
    expect(await sh(id, "pgrep -fc 'sleep 1234[5]'")).toBe("1\n");
    const before = (await ask("GET", `/sandboxes/${id}`)).body.sandbox;
    expect((await ask("POST", `/sandboxes/${id}/pause`, { memory: false })).body.sandbox).toMatchObject({
      sandboxId: id,
      status: "Paused",
    });
    const listed = (await ask("GET", "/sandboxes?status=Paused")).body.sandboxes ?? [];
    expect(listed.map(({ sandboxId }) => sandboxId)).toEqual([id]);
    expect((await ask("GET", "/checkpoints")).body.checkpoints, "no snapshot of the user").toEqual([]);
    const { body } = await ask("POST", `/sandboxes/${id}/resume`);
    expect(body.sandbox).toMatchObject({ sandboxId: id, status: "Running", claimedAt: before?.claimedAt, metadata: { purpose: "test" } });
    expect(await sh(id, "cat ~/note; echo $SECRET; pgrep -fc 'sleep 1234[5]'")).toBe("kept\nof-the-user\n0\n");
    // Again and again: each pause holds what the ones before held.
    for (const round of ["two", "three"]) {
      await sh(id, `echo ${round} >> ~/note`);
      expect((await ask("POST", `/sandboxes/${id}/pause`, { memory: false })).status).toBe(200);
      expect((await ask("POST", `/sandboxes/${id}/resume`)).status).toBe(200);
    }
    expect(await sh(id, "cat ~/note")).toBe("kept\ntwo\nthree\n");
    expect((await ask("DELETE", `/sandboxes/${id}`)).status).toBe(202);
  });

  test("outlives its server, and leaves nothing when it is ended", async () => {
    const id = await sandbox();
    await sh(id, "echo kept > ~/note");
    await ask("POST", `/sandboxes/${id}/pause`);
    expect(await statusOf(id)).toBe("Paused");
    await ask("POST", `/sandboxes/${id}/pause`, { memory: false });
    await up.process.kill();
    await up.start();
    api = await up.access();
    expect(await statusOf(id)).toBe("Paused");
    expect((await ask("POST", `/sandboxes/${id}/resume`)).body.sandbox).toMatchObject({ sandboxId: id, status: "Running" });
    expect(await sh(id, "cat ~/note")).toBe("kept\n");
    await ask("POST", `/sandboxes/${id}/pause`, { memory: false });
    expect((await ask("DELETE", `/sandboxes/${id}`)).status).toBe(202);
    expect(await statusOf(id)).toBe("Completed");
    await expect.poll(() => readdir(join(up.home, "images/names")), { timeout: 60_000 }).toEqual([]);
  });
});
