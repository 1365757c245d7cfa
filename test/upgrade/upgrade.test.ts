/** An earlier version runs from its own sources, and this one takes over what it left: objects, keys, history, and sandboxes that run. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import { kubernetesClient } from "#engines/kubernetes/client.ts";
import { systemClock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import type { ApiObject } from "#model/meta.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { findRuntime } from "#engines/embedded/node/runtime/find-command.ts";
import { eraseEmbeddedNode } from "../../src/cmd/machine/embedded-node.ts";
import { readServerFile } from "../../src/cmd/machine/server-file.ts";
import { ServerProcess } from "../crash/server-process.ts";
import { launchedCli } from "../world/launched-cli.ts";
import { isReady } from "../world/pod-watch.ts";

/** The state before layers, commands and console were rearranged; nothing was released before it. */
const earlier = "cc82054";

const root = join(import.meta.dirname, "../..");
let folder = "";
let home = "";
let before: ServerProcess;
let now: ServerProcess;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-upgrade-"));
  home = join(folder, "home");
  // It looks for runc on the path only.
  const env = { PATH: `${dirname(findRuntime("runc", process.env) ?? "")}:${process.env["PATH"] ?? ""}` };
  before = new ServerProcess(home, { sandboxes: true, program: join(earlierProgram(), "bin/agentbox"), env });
  now = new ServerProcess(home, { sandboxes: true });
});
afterEach(async () => {
  await before.kill();
  await now.kill();
  await eraseEmbeddedNode({ home, clock: systemClock, log: openLog({ clock: systemClock, out: { write: () => true } }) });
  rmSync(folder, { recursive: true, force: true });
});

/** Its sources out of git, with the packages of today: those that it names are all among them. */
function earlierProgram(): string {
  const program = join(folder, "program");
  const archive = join(folder, "program.tar");
  mkdirSync(program);
  execFileSync("git", ["-C", root, "archive", `--output=${archive}`, earlier], { stdio: ["ignore", "ignore", "inherit"] });
  execFileSync("tar", ["-x", "-f", archive, "-C", program]);
  symlinkSync(join(root, "node_modules"), join(program, "node_modules"));
  return program;
}

async function client(): Promise<AgentBoxClient> {
  return new AgentBoxClient({ url: await url(), apiKey: (await readFile(join(home, "keys/admin.key"), "utf8")).trim() });
}

async function url(): Promise<string> {
  return (await readServerFile(join(home, "run/server.json")))?.httpAddress ?? "";
}

interface Kept {
  readonly envs: readonly Named[];
  readonly pools: readonly Named[];
  readonly pods: readonly Pod[];
}

/** With the uid that it was born with: one that was made anew has another. */
interface Named {
  readonly name: string;
  readonly uid: string;
}

async function objects(): Promise<Kept> {
  const store = await kubernetesClient({ socketPath: now.socketPath });
  try {
    const facts = ({ metadata: { name = "", uid = "" } }: ApiObject): Named => ({ name, uid });
    const [envs, pools, pods] = await Promise.all([store.list(SandboxEnvs), store.list(SandboxPools), store.list(Pods)]);
    return { envs: envs.items.map(facts), pools: pools.items.map(facts), pods: pods.items };
  } finally {
    await store.close();
  }
}

async function allReady(): Promise<readonly Pod[]> {
  await expect.poll(async () => (await objects()).pods.filter(isReady).length, { timeout: 120_000 }).toBeGreaterThanOrEqual(5);
  return (await objects()).pods;
}

test(`data of ${earlier} is taken over with its sandboxes, keys, history and pools`, async () => {
  await before.start();
  await before.complete();
  await allReady();
  const first = (await client()).sandboxes;
  const ended = (await first.create({ poolName: "base", metadata: { which: "ended" } })).sandbox.sandboxId;
  await first.end(ended);
  await expect.poll(async () => (await first.get(ended)).status, { timeout: 60_000 }).toBe("Completed");
  const running = (await first.create({ poolName: "base", metadata: { which: "running" } })).sandbox.sandboxId;
  await first.exec(running, { command: ["sh", "-c", "echo kept >/root/file; sleep 100000 >/dev/null 2>&1 &"] });
  const paused = (await first.create({ poolName: "base" })).sandbox.sandboxId;
  await first.pause(paused);
  const tenant = await (await client()).keys.create({ role: "tenant", team: "red" });
  const there = await objects();
  await before.stop();

  // What the page on operations says to do first.
  const backup = join(folder, "before.tar");
  expect(await launchedCli(["backup", backup], { AGENTBOX_HOME: home })).toMatchObject({ code: 0 });

  await now.start();
  await now.complete();
  const { sandboxes, keys } = await client();
  const { envs, pools } = await objects();
  expect(pools).toEqual(there.pools);
  // It had pools only; each is the member of an Env now.
  expect(there.envs).toEqual([]);
  expect(envs.map(({ name }) => name)).toEqual(there.pools.map(({ name }) => name));
  expect(await sandboxes.get(ended)).toMatchObject({ status: "Completed", metadata: { which: "ended" } });
  expect(await sandboxes.get(running)).toMatchObject({ status: "Running", metadata: { which: "running" } });
  expect(await sandboxes.exec(running, { command: ["sh", "-c", "cat /root/file; pgrep -c sleep"] })).toMatchObject({ stdout: "kept\n1\n" });
  expect((await sandboxes.get(paused)).status).toBe("Paused");
  await sandboxes.resume(paused);
  expect(await sandboxes.exec(paused, { command: ["echo", "thawed"] })).toMatchObject({ stdout: "thawed\n" });
  expect((await keys.list()).map(({ id }) => id)).toContain(tenant.id);
  expect(await new AgentBoxClient({ url: await url(), apiKey: tenant.key }).sandboxes.page()).toMatchObject({ sandboxes: [] });

  await sandboxes.end(running);
  await expect.poll(async () => (await sandboxes.get(running)).status, { timeout: 60_000 }).toBe("Completed");
  const fresh = (await sandboxes.create({ poolName: "base" })).sandbox.sandboxId;
  expect(await sandboxes.exec(fresh, { command: ["echo", "fresh"] })).toMatchObject({ stdout: "fresh\n" });
  await allReady();

  // The way back: the backup of before, under the earlier program.
  await now.stop();
  expect(await launchedCli(["down"], { AGENTBOX_HOME: home })).toMatchObject({ code: 0 });
  expect(await launchedCli(["restore", "--replace", backup], { AGENTBOX_HOME: home })).toMatchObject({ code: 0 });
  await before.start();
  await before.complete();
  await allReady();
  const back = (await client()).sandboxes;
  expect((await back.get(ended)).status).toBe("Completed");
  await expect.poll(async () => (await back.get(running)).status, { timeout: 60_000 }).toBe("Failed");
});
