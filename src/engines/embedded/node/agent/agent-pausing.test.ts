import { expect, test } from "vitest";
import { annotationKeys, podConditions } from "#model/keys.ts";
import { freezeFailure, isFrozen } from "#model/pause.ts";
import { Pods } from "#model/pod.ts";
import { aContainer, NodeWorld, type PodShape } from "../../../../../test/world/node-world.ts";

const wish = "2026-05-01T10:00:00.123Z";
const readinessProbe = { httpGet: { path: "/health", port: 8080 }, periodSeconds: 1 };
const livenessProbe = { ...readinessProbe, failureThreshold: 1 };

async function runningWorld(shape: PodShape = {}): Promise<NodeWorld> {
  const world = await NodeWorld.start();
  await world.createPod("a", { containers: [aContainer({ readinessProbe, livenessProbe })], ...shape });
  await world.step(100);
  return world;
}

async function ask(world: NodeWorld, since: string | null): Promise<void> {
  await world.patchPod("a", { metadata: { annotations: { [annotationKeys.paused]: since } } });
}

const frozen = (world: NodeWorld): boolean | undefined => world.runtime.present()[0]?.frozen;

test("a pod that is to pause is frozen and says so, and goes on in the same container when the wish is gone", async () => {
  await using world = await runningWorld();
  const before = world.runtime.container("a", "main")?.id;
  await ask(world, wish);
  expect(frozen(world)).toBe(true);
  expect(await world.condition("a", podConditions.paused)).toMatchObject({ status: "True", reason: "Frozen" });
  await ask(world, null);
  expect(frozen(world)).toBe(false);
  expect(await world.condition("a", podConditions.paused)).toBeUndefined();
  expect(await world.condition("a", "Ready")).toMatchObject({ status: "True" });
  expect(world.runtime.container("a", "main")).toMatchObject({ id: before, state: "running", attempt: 0 });
});

test("probes rest while a pod is paused: nobody is asked, nobody is restarted, and Ready stays as it was", async () => {
  await using world = await runningWorld();
  await ask(world, wish);
  world.network.answer = () => "nothing";
  const asked = world.network.requests.length;
  await world.step(3_600_000);
  expect(world.network.requests).toHaveLength(asked);
  expect(await world.condition("a", "Ready")).toMatchObject({ status: "True" });
  world.network.answer = () => 200;
  await ask(world, null);
  await world.step(5_000);
  expect(world.network.requests.length).toBeGreaterThan(asked);
  expect(await world.containerStatus("a")).toMatchObject({ restartCount: 0, ready: true });
});

test("a question that is under way when a pod is frozen is not held against it", async () => {
  await using world = await runningWorld();
  world.network.answer = () => "nothing";
  await world.step(900);
  world.runtime.delay("freezePod", 5_000);
  await ask(world, wish);
  await world.step(60_000);
  expect(frozen(world)).toBe(true);
  expect(await world.containerStatus("a")).toMatchObject({ restartCount: 0, ready: true });
});

test("a pause that does not work is answered with its cause, once, and another wish is tried anew", async () => {
  await using world = await runningWorld();
  world.runtime.fail("freezePod", { message: "no freezer", when: "after" });
  await ask(world, wish);
  await world.step(120_000);
  expect(freezeFailure(await world.thePod("a"))).toBe("no freezer");
  expect(frozen(world)).toBe(false);
  expect(await world.events("FreezeFailed")).toMatchObject([{ count: 1, message: "The pod cannot be paused: no freezer" }]);
  world.crashAgent();
  await world.startAgent();
  await world.step(60_000);
  expect(freezeFailure(await world.thePod("a"))).toBe("no freezer");
  await ask(world, "2026-05-01T10:00:00.124Z");
  expect(isFrozen(await world.thePod("a"))).toBe(true);
});

test("a pod that cannot be thawed is tried again, and counts as frozen until it is not", async () => {
  await using world = await runningWorld();
  await ask(world, wish);
  world.runtime.fail("thawPod", { message: "busy", times: 2 });
  await ask(world, null);
  expect(isFrozen(await world.thePod("a"))).toBe(true);
  await world.step(10_000);
  expect(isFrozen(await world.thePod("a"))).toBe(false);
});

test("nothing is run in a paused pod", async () => {
  await using world = await runningWorld();
  await ask(world, wish);
  const exec = () => world.agent.exec({ pod: { namespace: "default", name: "a" }, command: { argv: ["true"] } });
  await expect(exec()).rejects.toMatchObject({
    code: "not_running",
    message: "the pod default/a is paused: nothing can be run in it until it is resumed",
  });
  await ask(world, null);
  await expect(exec()).resolves.toBeDefined();
});

test("a paused pod that is deleted is thawed first, so that it hears that it is to stop", async () => {
  await using world = await runningWorld();
  await ask(world, wish);
  await world.deletePod("a");
  await world.step(100);
  expect(world.runtime.signals.map(({ signal }) => signal)).toEqual(["SIGTERM"]);
  expect(await world.pod("a")).toBeUndefined();
  expect(world.runtime.present()).toEqual([]);
});

test("a released pod, which has neither wish nor old image any more, gets its new container at once", async () => {
  await using world = await runningWorld();
  await ask(world, wish);
  const operations = [
    { op: "remove", path: `/metadata/annotations/${annotationKeys.paused.replace("/", "~1")}` },
    { op: "replace", path: "/spec/containers/0/image", value: "registry.invalid/app:2" },
  ] as const;
  await world.store.patch(Pods, { namespace: "default", name: "a" }, { type: "json", operations });
  await world.step(100);
  expect(frozen(world)).toBe(false);
  expect(await world.containerStatus("a")).toMatchObject({ image: "registry.invalid/app:2", restartCount: 1, ready: true });
  expect(world.runtime.violations).toEqual([]);
});

test("an image that changes under a pause is exchanged, and the new container paused", async () => {
  await using world = await runningWorld();
  await ask(world, wish);
  await world.setImage("a", "registry.invalid/app:2");
  await world.step(100);
  expect(await world.containerStatus("a")).toMatchObject({ image: "registry.invalid/app:2", restartCount: 1 });
  expect(isFrozen(await world.thePod("a"))).toBe(true);
  expect(world.runtime.violations).toEqual([]);
});

test("a pod that is still being started is paused when that is done", async () => {
  await using world = await NodeWorld.start();
  world.images.pullFor(() => 5_000);
  await world.createPod("a", { annotations: { [annotationKeys.paused]: wish } });
  await world.step(1_000);
  expect(await world.condition("a", podConditions.paused)).toMatchObject({ status: "False", reason: "Pending" });
  await world.step(5_000);
  expect(isFrozen(await world.thePod("a"))).toBe(true);
});

test("a new agent leaves who is paused as it is, and does what was wished while nobody was there", async () => {
  await using world = await runningWorld();
  await ask(world, wish);
  world.crashAgent();
  await world.startAgent();
  await world.step(60_000);
  expect(frozen(world)).toBe(true);
  expect(await world.condition("a", "Ready")).toMatchObject({ status: "True" });
  world.crashAgent();
  await ask(world, null);
  await world.startAgent();
  await world.step(100);
  expect(frozen(world)).toBe(false);
  expect(isFrozen(await world.thePod("a"))).toBe(false);
  expect(world.runtime.starts).toHaveLength(1);
});
