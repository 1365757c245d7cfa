/** Pausing, with real processes. */
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { annotationKeys } from "#model/keys.ts";
import { isFrozen } from "#model/pause.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { type RealNode, startRealNode } from "../../world/real-node.ts";
import { isRunning, key, namespace, script, statusOf, until } from "./pods-for-real.ts";

let world: RealNode;

beforeAll(async () => {
  world = await startRealNode();
});

afterAll(() => world[Symbol.asyncDispose]());

/** Counts in a file, as fast as it can, and is asked every second whether it is there. */
const counting = script("i=0; while :; do i=$((i+1)); echo $$ $i > /tmp/new; mv /tmp/new /tmp/count; done", {
  livenessProbe: { exec: { command: ["true"] }, periodSeconds: 1, failureThreshold: 1 },
});

async function ask(name: string, since: string | null): Promise<Pod> {
  await world.store.patch(Pods, key(name), { type: "merge", body: { metadata: { annotations: { [annotationKeys.paused]: since } } } });
  return until(world.store, name, (pod) => isFrozen(pod) === (since !== null));
}

/** The counting process and its count. */
async function counted(name: string): Promise<readonly [pid: number, count: number]> {
  const { stdout } = await world.run(name, ["sh", "-c", "until cat /tmp/count 2>/dev/null; do sleep 0.05; done"]);
  const [pid = 0, count = 0] = stdout.trim().split(" ").map(Number);
  return [pid, count];
}

async function cpuOf(pod: Pod): Promise<number> {
  return (await world.node.runtime.usage(pod.metadata.uid ?? "")).cpuNanos;
}

test("a paused pod stands still, is not restarted for that, and goes on with the same process where it stood", async () => {
  await world.store.create(Pods, {
    metadata: { namespace, name: "counts" },
    spec: { terminationGracePeriodSeconds: 1, containers: [counting] },
  });
  const before = await until(world.store, "counts", isRunning);
  const [pid, first] = await counted("counts");
  expect(first).toBeGreaterThan(0);

  const paused = await ask("counts", new Date().toISOString());
  const used = await cpuOf(paused);
  await expect(world.run("counts", ["true"])).rejects.toThrow("the pod default/counts is paused");
  // Longer than its probe has patience.
  await wait(2_500);
  expect(await cpuOf(paused)).toBe(used);
  expect(statusOf(await world.store.get(Pods, key("counts")))?.containerID).toBe(statusOf(before)?.containerID);

  const resumed = await ask("counts", null);
  expect(statusOf(resumed)).toMatchObject({ containerID: statusOf(before)?.containerID, restartCount: 0, ready: true });
  const [samePid, second] = await counted("counts");
  expect([samePid, second > first]).toEqual([pid, true]);
  await expect.poll(async () => (await counted("counts"))[1]).toBeGreaterThan(second);
  await world.remove("counts");
});

test("a paused pod with several containers can be deleted, and they hear that they are to stop", async () => {
  const polite = (name: string) => script("trap 'exit 0' TERM; echo listens; while :; do sleep 0.05; done", { name });
  await world.store.create(Pods, {
    metadata: { namespace, name: "deleted" },
    spec: { terminationGracePeriodSeconds: 20, containers: [polite("main"), polite("side")] },
  });
  await until(world.store, "deleted", isRunning);
  for (const container of ["main", "side"]) {
    await expect.poll(() => text(world.node.agent.readLogs({ pod: key("deleted"), container }))).toBe("listens\n");
  }
  await ask("deleted", new Date().toISOString());
  const ended = until(world.store, "deleted", (pod) => statusOf(pod, "side")?.state?.terminated !== undefined);
  const removed = world.remove("deleted");
  expect(statusOf(await ended, "side")?.state?.terminated).toMatchObject({ exitCode: 0 });
  await removed;
});

test("a frozen pod with several containers can be removed from the machine at once", async () => {
  for (let round = 0; round < 5; round++) {
    const name = `removed-${round}`;
    const containers = ["a", "b", "c"].map((one) => script("while :; do :; done", { name: one }));
    await world.store.create(Pods, { metadata: { namespace, name }, spec: { containers } });
    const { metadata } = await until(world.store, name, isRunning);
    await ask(name, new Date().toISOString());
    await world.store.delete(Pods, key(name), { gracePeriodSeconds: 0 });
    await expect.poll(() => world.node.runtime.inspect(metadata.uid ?? "")).toBeUndefined();
  }
});
