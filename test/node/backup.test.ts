/** Backups of the whole product as processes: with real sandboxes, and with kill -9 in the middle. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import { failureReasons } from "#model/keys.ts";
import { ServerProcess } from "../crash/server-process.ts";
import { isReady } from "../world/pod-watch.ts";
import { launchedCli } from "../world/launched-cli.ts";
import { UpProcess } from "../world/up-process.ts";

const launcher = join(import.meta.dirname, "../../bin/agentbox");

test("a server with sandboxes, history and keys is backed up while creates go on, and is there again in another folder", async () => {
  await using up = await UpProcess.onNewFolder();
  await up.start();
  const client = new AgentBoxClient(await up.access());
  const ended = (await client.sandboxes.create({ poolName: "base", metadata: { which: "ended" } })).sandbox;
  await client.sandboxes.end(ended.sandboxId);
  await expect.poll(async () => (await client.sandboxes.get(ended.sandboxId)).status, { timeout: 60_000 }).toBe("Completed");
  const running = (await client.sandboxes.create({ poolName: "base", metadata: { which: "running" } })).sandbox;
  const tenant = await client.keys.create({ role: "tenant", team: "red", name: "of red" });

  const over = new AbortController();
  const made: string[] = [];
  const creating = (async () => {
    while (!over.signal.aborted) {
      const { sandbox } = await client.sandboxes.create({ poolName: "base" });
      made.push(sandbox.sandboxId);
      await client.sandboxes.end(sandbox.sandboxId);
    }
  })();
  await expect.poll(() => made.length, { timeout: 60_000 }).toBeGreaterThan(1);
  const before = [...made];
  const file = join(await mkdtemp(join(tmpdir(), "agentbox-backup-")), "b.tar");
  expect(await up.agentbox("backup", file)).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining(`Backup in ${file}`) });
  over.abort();
  await creating;

  const home = await mkdtemp(join(tmpdir(), "agentbox-up-"));
  await using again = UpProcess.onFolder(home);
  expect(await again.agentbox("restore", file)).toMatchObject({ code: 0, stdout: expect.stringContaining(`Restored ${home}`) });
  await rm(dirname(file), { recursive: true });
  await again.start();
  const { url } = await again.access();
  // The key of the first server is the key of the second.
  const restored = new AgentBoxClient({ ...(await up.access()), url });
  expect(await restored.sandboxes.get(ended.sandboxId)).toMatchObject({ status: "Completed", metadata: { which: "ended" } });
  await expect.poll(async () => (await restored.sandboxes.get(running.sandboxId)).status, { timeout: 60_000 }).toBe("Failed");
  expect(await restored.sandboxes.get(running.sandboxId)).toMatchObject({
    failureReason: failureReasons.restoredFromBackup,
    failureMessage: expect.stringContaining("it ran when the backup of"),
    metadata: { which: "running" },
  });
  // Each that was answered before the backup has its record (I3).
  const statusOf = async (id: string): Promise<string> => (await restored.sandboxes.get(id)).status;
  await expect.poll(async () => (await Promise.all(before.map(statusOf))).filter((status) => status === "Running")).toEqual([]);
  expect(await new AgentBoxClient({ url, apiKey: tenant.key }).sandboxes.page()).toMatchObject({ sandboxes: [] });
  await again.podsWhen((pods) => pods.filter(isReady).length >= 5, 100_000);
  const { sandbox } = await restored.sandboxes.create({ poolName: "base" });
  expect(await restored.sandboxes.exec(sandbox.sandboxId, { command: ["echo", "again"] })).toMatchObject({ stdout: "again\n" });
  // The first one goes on, and its sandbox too.
  expect((await client.sandboxes.get(running.sandboxId)).status).toBe("Running");
});

/** Large enough that killing hits the middle. */
const ballastBytes = 200 * 1024 ** 2;

test("kill -9 in the middle of a backup or of a restore leaves nothing half visible, and the next one cleans up", async () => {
  const folder = await mkdtemp(join(tmpdir(), "agentbox-backup-"));
  const [home, other, file] = [join(folder, "home"), join(folder, "other"), join(folder, "b.tar")];
  const server = new ServerProcess(home);
  await server.start();
  try {
    await writeFile(join(home, "ballast"), Buffer.alloc(ballastBytes, 7));
    await killedWhen(["backup", file], home, () => partOf(folder, `.${basename(file)}.partial-`));
    expect(existsSync(file)).toBe(false);
    await expect
      .poll(async () => (await readdir(join(home, "run"))).sort())
      .toEqual(["api.sock", expect.stringMatching(/^backup-/), "server.json"]);
    expect(await launchedCli(["backup", file], { AGENTBOX_HOME: home })).toMatchObject({ code: 0 });
    expect((await readdir(join(home, "run"))).sort()).toEqual(["api.sock", "server.json"]);
    expect((await readdir(folder)).sort()).toEqual(["b.tar", "home"]);

    await killedWhen(["restore", file], other, () => partOf(folder, ".other.restoring-"));
    expect(existsSync(other)).toBe(false);
    expect(await launchedCli(["restore", file], { AGENTBOX_HOME: other })).toMatchObject({ code: 0 });
    expect((await readdir(folder)).sort()).toEqual(["b.tar", "home", "other"]);

    await writeFile(join(other, "keys", "admin.key"), "of the old data\n");
    await killedWhen(["restore", "--replace", file], other, () => partOf(folder, ".other.restoring-"));
    expect((await launchedCli(["restore", file], { AGENTBOX_HOME: other })).stderr).toContain("holds data already");
    expect(await readFile(join(other, "keys", "admin.key"), "utf8")).toBe("of the old data\n");

    // The server is killed while it copies: what it left goes with its next start.
    await killedWhen(
      ["backup", join(folder, "c.tar")],
      home,
      () => partOf(folder, ".c.tar.partial-"),
      () => server.kill(),
    );
    await server.start();
    await expect.poll(async () => (await readdir(join(home, "run"))).sort()).toEqual(["api.sock", "server.json"]);
  } finally {
    await server.kill();
    await rm(folder, { recursive: true });
  }
});

async function partOf(folder: string, prefix: string): Promise<boolean> {
  const name = (await readdir(folder)).find((entry) => entry.startsWith(prefix));
  if (name === undefined) return false;
  const files = await readdir(join(folder, name), { recursive: true }).catch(() => []);
  return files.length > 0;
}

/** Starts the command, and kills it as soon as it has come so far. */
async function killedWhen(
  args: readonly string[],
  home: string,
  far: () => Promise<boolean>,
  also: () => Promise<void> = async () => {},
): Promise<void> {
  const child: ChildProcess = spawn(launcher, [...args], { env: { ...process.env, AGENTBOX_HOME: home }, stdio: "ignore", detached: true });
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once("exit", (_, signal) => resolve(signal)));
  while (!(await far()) && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 2));
  await also();
  // bin/agentbox is a shell that becomes node, or has node as its child: both are of this group.
  if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
  expect(await ended).toBe("SIGKILL");
}
