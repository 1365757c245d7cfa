import { expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { addressOf } from "../../test/world/claim-scene.ts";
import { embeddedClaimScene } from "../../test/world/embedded-claim-scene.ts";
import { digestOf } from "../../test/world/pool-pods.ts";
import { meddled } from "../../test/world/meddled-writes.ts";
import { refusal } from "../../test/world/refusal.ts";
import { settle } from "../../test/world/stepped-clock.ts";

test("W5: who loses a pod to another process takes the next one at once", async () => {
  await using world = await embeddedClaimScene({ pods: 2 });
  const { scene } = world;
  const { client, meddling } = meddled(scene.client);
  const process = await scene.process({ client });
  await settle();
  let lost = 0;
  meddling.patch = async (send) => {
    if (lost++ === 0) throw new ApiError("Conflict", "somebody was faster");
    return send();
  };
  const { sandbox } = await process.create();
  expect(sandbox.status).toBe("Running");
  expect(lost).toBe(2);
  expect((await scene.pods()).filter((pod) => sandboxIdOf(pod) === sandbox.sandboxId)).toHaveLength(1);
  expect(await process.registry.getSingleMetricAsString("agentbox_schedule_cas_outcome_total")).toContain('outcome="lost"} 1');
});

test("W5: a pod that is not what the cache says is tried once, and again when it is seen anew", async () => {
  await using world = await embeddedClaimScene({ pods: 2 });
  const { scene, clock } = world;
  const { client, meddling } = meddled(scene.client);
  const process = await scene.process({ client });
  await settle();
  let tries = 0;
  meddling.patch = async () => {
    tries += 1;
    throw new ApiError("Conflict", "somebody was faster");
  };
  const creating = process.create();
  await clock.step(10_000);
  expect(tries).toBe(2);
  meddling.patch = (send) => send();
  await scene.nodeReports(2, { message: "another version" });
  expect((await creating).sandbox.podName).toBe("py-2");
});

test("W4: pods that are not ready, that go, or that have no address are nobody's", async () => {
  await using world = await embeddedClaimScene({ pods: 3 });
  const { scene, clock } = world;
  await scene.nodeReports(1, { conditions: [{ type: "Ready", status: "False" }] });
  await scene.nodeReports(2, { phase: "Pending" });
  await scene.client.delete(Pods, { namespace: "ns", name: "py-3" });
  const process = await scene.process();
  const failed = refusal(process.create({ startupTimeoutMs: 1_000 }));
  await clock.step(1_000);
  expect(await failed).toMatchObject({ code: "no_capacity", details: { retryAfterSeconds: 1, pool: { idle: 2, running: 0 } } });
});

test("a request that waits gets the pod that becomes ready, without polling", async () => {
  await using world = await embeddedClaimScene({ pods: 1 });
  const { scene } = world;
  await scene.nodeReports(1, { conditions: [{ type: "Ready", status: "False" }] });
  const process = await scene.process();
  const creating = process.create();
  await settle();
  expect(process.claims.pending({ namespace: "ns", name: "py" }), "W11: who waits is counted").toBe(1);
  await scene.nodeReports(1);
  expect((await creating).sandbox.status).toBe("Running");
});

test("an answer that never came: the caller is told at once, and a claim that was written is taken back", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const { client, meddling } = meddled(scene.client);
  const process = await scene.process({ client });
  await settle();
  let isUp = false;
  meddling.patch = async (send) => {
    const answer = await send();
    if (!isUp) throw new ApiError("Unreachable", "the connection was reset");
    return answer;
  };
  meddling.get = async (send) => {
    if (!isUp) throw new ApiError("Unreachable", "the connection was refused");
    return send();
  };
  expect(await refusal(process.create())).toMatchObject({ code: "unavailable" });
  await clock.step(10_000);
  expect(sandboxPhaseOf(await scene.pod())).toBe("running");
  isUp = true;
  await clock.step(10_000);
  expect(sandboxPhaseOf(await scene.pod())).toBe("stopping");
  expect(scene.daemons.at(addressOf(1))?.armed).toBeUndefined();
});

test("a claim that was never written leaves the pod to the next one", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const { client, meddling } = meddled(scene.client);
  const process = await scene.process({ client });
  await settle();
  meddling.patch = async () => {
    throw new ApiError("Unreachable", "the connection was refused");
  };
  expect(await refusal(process.create())).toMatchObject({ code: "unavailable" });
  meddling.patch = (send) => send();
  const creating = process.create();
  await clock.step(1_000);
  expect((await creating).sandbox.status).toBe("Running");
});

test("a pool that is deleted ends the requests that wait there", async () => {
  await using world = await embeddedClaimScene({ pods: 0 });
  const { scene } = world;
  const process = await scene.process();
  const failed = refusal(process.create());
  await settle();
  await scene.client.delete(SandboxPools, { namespace: "ns", name: "py" });
  expect(await failed).toMatchObject({ code: "not_found" });
  expect(await refusal(process.create())).toMatchObject({ code: "not_found" });
});

test("where too many wait already, the next one is told at once", async () => {
  await using world = await embeddedClaimScene({ pods: 0 });
  const process = await world.scene.process({ limits: { maxWaiting: 1, maxWaitingOfTenant: 1 } });
  const waiting = refusal(process.create());
  await settle();
  expect(await refusal(process.create())).toMatchObject({ code: "queue_full", details: { retryAfterSeconds: 1, pool: { waiting: 1 } } });
  await process.claims.stop();
  expect(await waiting).toMatchObject({ code: "no_capacity", details: { retryAfterSeconds: 1 } });
});

test("our own claim is known before any watch tells of it: the same pod is not tried twice", async () => {
  await using world = await embeddedClaimScene({ pods: 2 });
  const { scene } = world;
  const process = await scene.process();
  await settle();
  await process.cache.stop();
  const made = [await process.create(), await process.create()];
  expect(new Set(made.map(({ sandbox }) => sandbox.podName)).size).toBe(2);
  expect(await process.registry.getSingleMetricAsString("agentbox_schedule_cas_outcome_total")).not.toContain("lost");
});

test("a pool that is deleted while a request for it is looked into gives out no pod any more", async () => {
  await using world = await embeddedClaimScene();
  const { scene } = world;
  const asked = Promise.withResolvers<{ readonly digest: string }>();
  const process = await scene.process({ digests: { resolve: () => asked.promise } });
  const failed = refusal(process.create());
  await scene.client.delete(SandboxPools, { namespace: "ns", name: "py" });
  await settle();
  asked.resolve({ digest: digestOf("app") });
  expect(await failed).toMatchObject({ code: "not_found" });
  expect(sandboxPhaseOf(await scene.pod())).toBe("idle");
});

test("on the slow path the boot of the container that goes is asked for before it goes, if nobody knows it", async () => {
  await using world = await embeddedClaimScene({ pool: { podCreationImagePolicy: "IdleImage", idleImage: "registry.invalid/idle:1" } });
  const { scene, clock } = world;
  scene.daemons.fail("health", "unreachable");
  const process = await scene.process();
  const creating = process.create();
  await settle();
  await scene.nodeStarts();
  await clock.step(500);
  expect((await creating).sandbox.status, "without a report of its node").toBe("Running");
});

test("a write that hangs: its caller is told by the deadline, and the pod is there again for the next one", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const { client, meddling } = meddled(scene.client);
  const process = await scene.process({ client });
  await settle();
  meddling.patch = () => new Promise(() => {});
  const failed = refusal(process.create({ startupTimeoutMs: 2_000 }));
  await clock.step(2_000);
  expect(await failed).toMatchObject({ code: "timeout" });
  meddling.patch = (send) => send();
  await clock.step(30_000);
  expect((await process.create()).sandbox.status).toBe("Running");
});

test("a server that ends does not wait long for an object server that is gone", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const { client, meddling } = meddled(scene.client);
  const process = await scene.process({ client });
  await settle();
  meddling.patch = () => new Promise(() => {});
  const failed = refusal(process.create());
  await clock.step(10);
  let isStopped = false;
  const stopping = process.claims.stop().then(() => (isStopped = true));
  expect(await failed).toMatchObject({ code: "no_capacity" });
  await clock.step(4_000);
  expect(isStopped).toBe(false);
  await clock.step(1_000);
  await stopping;
});
