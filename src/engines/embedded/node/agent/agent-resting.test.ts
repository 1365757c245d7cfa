import { expect, test } from "vitest";
import { annotationKeys, labelKeys, podConditions } from "#model/keys.ts";
import { isFrozen } from "#model/pause.ts";
import { Pods } from "#model/pod.ts";
import { restAnswer } from "#model/rest.ts";
import { aContainer, NodeWorld } from "../../../../../test/world/node-world.ts";

const probe = { httpGet: { path: "/health", port: 8080 }, periodSeconds: 1, failureThreshold: 1 };

/** A pod whose container does not hear that it is to stop. */
async function runningWorld(): Promise<NodeWorld> {
  const world = await NodeWorld.start();
  world.runtime.behave(() => ({ onStop: "ignores" }));
  const labels = { [labelKeys.sandboxPool]: "py", [labelKeys.sandboxId]: "i-1", [labelKeys.sandboxPhase]: "running" };
  await world.createPod("a", { labels, containers: [aContainer({ readinessProbe: probe, livenessProbe: probe })] });
  await world.step(100);
  return world;
}

async function end(world: NodeWorld): Promise<void> {
  const annotations = { [annotationKeys.restsSince]: new Date(world.clock.now()).toISOString() };
  await world.patchPod("a", { metadata: { labels: { [labelKeys.sandboxPhase]: "stopping" }, annotations } });
}

/** As the recycle loop writes it. */
async function recycle(world: NodeWorld): Promise<void> {
  const operations = [
    { op: "remove", path: `/metadata/annotations/${annotationKeys.restsSince.replace("/", "~1")}` },
    { op: "replace", path: "/spec/containers/0/image", value: "registry.invalid/app:2" },
  ] as const;
  await world.store.patch(Pods, { namespace: "default", name: "a" }, { type: "json", operations });
}

const frozen = (world: NodeWorld): boolean | undefined => world.runtime.present()[0]?.frozen;
const signals = (world: NodeWorld): readonly string[] => world.runtime.signals.map(({ signal }) => signal);

async function restingWorld(): Promise<NodeWorld> {
  const world = await runningWorld();
  await end(world);
  await world.step(2_000);
  return world;
}

test("a pod that rests is frozen when its daemon has had the time to answer, says so, and is not taken for a paused one", async () => {
  await using world = await runningWorld();
  await end(world);
  await world.step(1_900);
  expect([frozen(world), restAnswer(await world.thePod("a"))]).toEqual([false, undefined]);
  await world.step(100);
  expect(frozen(world)).toBe(true);
  const pod = await world.thePod("a");
  expect([restAnswer(pod), isFrozen(pod)]).toEqual(["frozen", false]);
  expect(await world.condition("a", podConditions.atRest)).toMatchObject({ status: "True", reason: "Frozen" });
});

test("a pod that rests stays frozen for as long as it takes, over a new agent too, and nothing of it is restarted", async () => {
  await using world = await restingWorld();
  world.network.answer = () => "nothing";
  await world.step(600_000);
  world.crashAgent();
  await world.startAgent();
  await world.step(600_000);
  expect([frozen(world), restAnswer(await world.thePod("a"))]).toEqual([true, "frozen"]);
  expect(await world.containerStatus("a")).toMatchObject({ restartCount: 0 });
  const exec = world.agent.exec({ pod: { namespace: "default", name: "a" }, command: { argv: ["true"] } });
  await expect(exec).rejects.toThrow("the pod default/a rests: its sandbox has ended");
});

test("an exchange kills what is frozen before it is thawed: it gets no time to stop, and the new container runs", async () => {
  await using world = await restingWorld();
  world.runtime.delay("signalContainer", 5_000);
  await recycle(world);
  await world.step(4_000);
  expect([frozen(world), signals(world)]).toEqual([true, []]);
  await world.step(2_000);
  expect(signals(world)).toEqual(["SIGKILL"]);
  expect(frozen(world)).toBe(false);
  expect(await world.containerStatus("a")).toMatchObject({ image: "registry.invalid/app:2", restartCount: 1, ready: true });
  expect(restAnswer(await world.thePod("a"))).toBeUndefined();
  expect(world.runtime.violations).toEqual([]);
});

test("an exchange that another agent has to do also kills first", async () => {
  await using world = await restingWorld();
  world.crashAgent();
  await recycle(world);
  await world.startAgent();
  await world.step(100);
  expect(signals(world)).toEqual(["SIGKILL"]);
  expect(await world.containerStatus("a")).toMatchObject({ image: "registry.invalid/app:2", ready: true });
});

test("a pod that rests can be deleted, and is killed before it is thawed", async () => {
  await using world = await restingWorld();
  await world.deletePod("a");
  await world.step(100);
  expect(signals(world)).toEqual(["SIGKILL"]);
  expect([await world.pod("a"), world.runtime.present()]).toEqual([undefined, []]);
});

test("a pod that cannot be frozen says so, so that its container goes at once", async () => {
  await using world = await runningWorld();
  world.runtime.fail("freezePod", { message: "no freezer" });
  await end(world);
  await world.step(60_000);
  expect(restAnswer(await world.thePod("a"))).toBe("failed");
  expect(await world.condition("a", podConditions.atRest)).toMatchObject({ reason: "FreezeFailed", message: "no freezer" });
  expect(await world.events("FreezeFailed")).toMatchObject([{ count: 1, message: "The pod cannot be frozen while it rests: no freezer" }]);
  await recycle(world);
  await world.step(60_000);
  expect(await world.containerStatus("a")).toMatchObject({ image: "registry.invalid/app:2", ready: true });
  expect(restAnswer(await world.thePod("a"))).toBeUndefined();
});

test("a clock that was set back does not keep an ended sandbox running", async () => {
  await using world = await runningWorld();
  const annotations = { [annotationKeys.restsSince]: new Date(world.clock.now() + 3_600_000).toISOString() };
  await world.patchPod("a", { metadata: { labels: { [labelKeys.sandboxPhase]: "stopping" }, annotations } });
  await world.step(100);
  expect(frozen(world)).toBe(true);
});

test("a sandbox that runs is not frozen for a word that it once rested", async () => {
  await using world = await runningWorld();
  const annotations = { [annotationKeys.restsSince]: "2020-01-01T00:00:00.000Z" };
  await world.patchPod("a", { metadata: { annotations } });
  await world.step(10_000);
  expect(frozen(world)).toBe(false);
});
