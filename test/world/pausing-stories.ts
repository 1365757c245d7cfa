/** Pausing, over HTTP: the same stories for a process of any engine with real containers, nodes that freeze, and a pool `base` of three. */
import { expect, test } from "vitest";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import type { SandboxesClient } from "#client/sandboxes.ts";
import { poolOfOne } from "./pool-of-one.ts";
import type { SystemUnderTest } from "./sandbox-stories.ts";

export interface PausingSystem extends SystemUnderTest {
  /** Where the gateway listens, plain. */
  gateway(): Promise<string>;
}

/** Writes down its process id and when it ran. */
const ticker = "while :; do read up idle < /proc/uptime; echo $$ $up >> /tmp/ticks; sleep 0.05; done";

async function open(up: PausingSystem): Promise<SandboxesClient> {
  await up.start();
  return new AgentBoxClient(await up.access()).sandboxes;
}

async function startTicking(sandboxes: SandboxesClient, id: string): Promise<void> {
  const command = ["sh", "-c", `(${ticker}) > /dev/null 2>&1 & until test -s /tmp/ticks; do sleep 0.05; done`];
  expect(await sandboxes.exec(id, { command })).toMatchObject({ exitCode: 0 });
}

interface Ticks {
  readonly pids: readonly string[];
  /** The longest time, in seconds, in which it did not run. */
  readonly longestStand: number;
  readonly count: number;
}

async function ticksOf(sandboxes: SandboxesClient, id: string): Promise<Ticks> {
  const { stdout } = await sandboxes.exec(id, { command: ["cat", "/tmp/ticks"] });
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => line.split(" "));
  const times = lines.map(([, time]) => Number(time));
  const stands = times.slice(1).map((time, index) => time - (times[index] ?? time));
  return { pids: [...new Set(lines.map(([pid = ""]) => pid))], longestStand: Math.max(0, ...stands), count: lines.length };
}

const seconds = (count: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, count * 1000));

/** Each starts a system and several containers, on a machine that may be busy. */
const patience = { timeout: 300_000 };

/** `start`: one that is not started yet. */
export function describePausingStories(start: () => Promise<PausingSystem>): void {
  test("a paused sandbox does not run, stays so over kill -9 of the server, and goes on with the same processes", patience, async () => {
    await using up = await start();
    let sandboxes = await open(up);
    const { sandbox } = await sandboxes.create({ poolName: "base", lifetime: "1h" });
    const id = sandbox.sandboxId;
    await startTicking(sandboxes, id);

    expect(await sandboxes.pause(id)).toMatchObject({ status: "Paused" });
    expect(await sandboxes.pause(id)).toMatchObject({ status: "Paused" });
    await expect(sandboxes.exec(id, { command: ["true"] })).rejects.toThrow("paused");
    await seconds(4);
    await up.process.kill();
    sandboxes = await open(up);
    expect(await sandboxes.get(id)).toMatchObject({ status: "Paused" });

    expect(await sandboxes.resume(id)).toMatchObject({ status: "Running" });
    expect(await sandboxes.resume(id)).toMatchObject({ status: "Running" });
    const after = await ticksOf(sandboxes, id);
    expect(after.pids).toHaveLength(1);
    expect(after.longestStand).toBeGreaterThan(4);
    await expect.poll(async () => (await ticksOf(sandboxes, id)).count).toBeGreaterThan(after.count);
    expect((await ticksOf(sandboxes, id)).pids).toEqual(after.pids);
  });

  test("a paused sandbox can be ended, and its pod is clean for the next one", patience, async () => {
    await using up = await start();
    const sandboxes = await open(up);
    const poolName = await poolOfOne(up);
    const { sandbox } = await sandboxes.create({ poolName });
    await startTicking(sandboxes, sandbox.sandboxId);
    await sandboxes.pause(sandbox.sandboxId);
    await sandboxes.end(sandbox.sandboxId);
    const record = (): Promise<object> => sandboxes.get(sandbox.sandboxId);
    await expect.poll(record, { timeout: 60_000 }).toMatchObject({ status: "Completed" });
    const { sandbox: next } = await sandboxes.create({ poolName });
    expect(next.podName).toBe(sandbox.podName);
    expect(await sandboxes.exec(next.sandboxId, { command: ["test", "-e", "/tmp/ticks"] })).toMatchObject({ exitCode: 1 });
  });

  test("knowing the id of a paused sandbox is not enough to wake it", patience, async () => {
    await using up = await start();
    const sandboxes = await open(up);
    const { sandbox, accessToken = "" } = await sandboxes.create({ poolName: "base", autoResume: true });
    const id = sandbox.sandboxId;
    await sandboxes.pause(id);
    const gateway = await up.gateway();
    const ask = async (token: string): Promise<number> => {
      const headers = { "E2b-Sandbox-Id": id, "E2b-Sandbox-Port": "49983", "X-Access-Token": token };
      return (await fetch(`${gateway}/envs`, { headers })).status;
    };
    expect([await ask(""), await ask("x".repeat(accessToken.length))]).toEqual([502, 502]);
    expect(await sandboxes.get(id)).toMatchObject({ status: "Paused" });
    expect(await ask(accessToken)).toBe(200);
    expect(await sandboxes.get(id)).toMatchObject({ status: "Running" });
  });

  test("a sandbox is paused when its time is over, if it asks for that, and traffic wakes it", patience, async () => {
    await using up = await start();
    const sandboxes = await open(up);
    const wish = { poolName: "base", lifetime: "3s", onTimeout: "pause", autoResume: true, secure: false } as const;
    const { sandbox } = await sandboxes.create(wish);
    const id = sandbox.sandboxId;
    await startTicking(sandboxes, id);
    await expect.poll(() => sandboxes.get(id), { timeout: 60_000 }).toMatchObject({ status: "Paused" });
    await seconds(4);

    const headers = { "E2b-Sandbox-Id": id, "E2b-Sandbox-Port": "49983" };
    const answer = await fetch(`${await up.gateway()}/health`, { headers });
    expect([answer.status, answer.headers.get("agentbox-sandbox-id")]).toEqual([204, id]);
    expect(await sandboxes.get(id)).toMatchObject({ status: "Running" });
    const { pids, longestStand } = await ticksOf(sandboxes, id);
    expect([pids.length, longestStand > 4]).toEqual([1, true]);
  });
}
