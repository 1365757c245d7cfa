/** The whole product as a process on a fresh folder: what a first start, an end and the next start do to sandboxes. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Pod } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { filesIn, noTraces, podTraces } from "../world/machine-traces.ts";
import { isReady } from "../world/pod-watch.ts";
import { UpProcess } from "../world/up-process.ts";

const threeReady = (pods: readonly Pod[]): boolean => pods.length === 3 && pods.every(isReady);
const pool = { namespace: "default", name: "base" };

/** What must not change when a pod is taken over. */
function identities(pods: readonly Pod[]): unknown[] {
  return pods.map(({ metadata, status }) => ({
    name: metadata.name,
    uid: metadata.uid,
    ip: status?.podIP,
    ready: status?.conditions?.find(({ type }) => type === "Ready"),
    containers: status?.containerStatuses?.map(({ containerID, restartCount, state }) => ({ containerID, restartCount, state })),
  }));
}

test("sandboxes of a first start outlive Ctrl-C and kill -9, are taken over by the next start, and leave nothing when they go", async () => {
  await using up = await UpProcess.onNewFolder(["base"]);
  expect(up.traces()).toEqual(noTraces);

  await up.start();
  const first = await up.podsWhen(threeReady, 60_000);
  expect(first.filter(isReady)).toHaveLength(3);
  expect(new Set(first.map(({ status }) => status?.podIP)).size).toBe(3);
  const before = identities(first);
  const { processes } = up.traces();
  expect(processes.filter((line) => line.includes("/.envd/init"))).toHaveLength(3);

  await up.process.interrupt();
  expect(up.traces().processes).toEqual(processes);
  await up.start();
  expect(identities(await up.podsWhen(threeReady, 60_000))).toEqual(before);

  await up.process.kill();
  expect(up.traces().processes).toEqual(processes);
  await up.start();
  expect(identities(await up.podsWhen(threeReady, 60_000))).toEqual(before);
  expect(up.traces().processes).toEqual(processes);

  await up.client.delete(SandboxPools, pool);
  expect(await up.podsWhen((pods) => pods.length === 0, 60_000)).toEqual([]);
  await expect.poll(() => up.client.get(SandboxPools, pool).catch((error: unknown) => String(error))).toMatch(/not found/);
  await expect.poll(() => podTraces(up.traces()), { timeout: 60_000 }).toEqual([]);
  expect(filesIn(join(up.home, "logs/pods"))).toEqual([]);

  await up.process.stop();
  await up.erase();
  // The kernel takes the ports away soon after the namespaces they led into.
  await expect.poll(() => up.traces(), { timeout: 60_000 }).toEqual(noTraces);
  expect(existsSync(join(up.home, "node"))).toBe(false);
}, 180_000);

test("what somebody deleted of the first pool does not come back with the next start", async () => {
  await using up = await UpProcess.onNewFolder(["base"]);
  await up.start();
  await up.podsWhen(threeReady, 60_000);
  await up.client.delete(SandboxPools, pool);
  await up.podsWhen((pods) => pods.length === 0, 60_000);
  await expect.poll(() => up.client.get(SandboxPools, pool).catch((error: unknown) => String(error))).toMatch(/not found/);
  await up.process.kill();
  await up.start();
  expect(await up.podsWhen((pods) => pods.length > 0, 1000)).toEqual([]);
});
