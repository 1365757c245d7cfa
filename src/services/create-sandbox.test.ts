import { expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import { Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { addressOf, ann } from "../../test/world/claim-scene.ts";
import { embeddedClaimScene } from "../../test/world/embedded-claim-scene.ts";
import { meddled } from "../../test/world/meddled-writes.ts";
import { settle } from "../../test/world/stepped-clock.ts";
import type { ServiceError } from "./service-error.ts";

const idleImagePool = { podCreationImagePolicy: "IdleImage", idleImage: "registry.invalid/idle:1" } as const;

function refusal(work: Promise<unknown>): Promise<ServiceError> {
  return work.then(
    () => {
      throw new Error("it should have failed");
    },
    (error: unknown) => error as ServiceError,
  );
}

test("a create on the fast path is one write and one call to the daemon", async () => {
  await using world = await embeddedClaimScene({ pods: 1 });
  const { scene } = world;
  const { client, meddling } = meddled(scene.client);
  const process = await scene.process({ client });
  await settle();
  let writes = 0;
  meddling.patch = (send) => ((writes += 1), send());
  scene.daemons.calls.length = 0;

  const { sandbox, accessToken } = await process.create({ metadata: { purpose: "test" }, idleTimeoutMs: 60_000, lifetimeMs: 3_600_000 });

  expect({ writes, calls: scene.daemons.calls }).toEqual({ writes: 1, calls: [`init ${addressOf(1)}`] });
  expect(sandbox).toMatchObject({ status: "Running", poolName: "py", team: "red", user: "ann", metadata: { purpose: "test" } });
  expect(sandbox).toMatchObject({ idleTimeoutMs: 60_000, endTime: "2026-01-01T01:00:00.000Z" });
  const pod = await scene.pod();
  expect([sandboxIdOf(pod), sandboxPhaseOf(pod)]).toEqual([sandbox.sandboxId, "running"]);
  expect(accessToken).toBe(process.claims.accessTokenOf(sandbox.sandboxId));
});

test("W7: environment variables and the access token reach the daemon on the fast path, and no pod", async () => {
  await using world = await embeddedClaimScene();
  const { scene } = world;
  const process = await scene.process();
  const { sandbox, accessToken } = await process.create({ envVars: { SECRET: "of-the-user" } });
  const armed = scene.daemons.at(addressOf(1))?.armed;
  expect(armed).toMatchObject({ sandboxId: sandbox.sandboxId, body: { accessToken, envVars: { SECRET: "of-the-user" } } });
  const written = JSON.stringify([await scene.pod(), process.logged.lines]);
  for (const secret of ["of-the-user", accessToken ?? ""]) expect(written).not.toContain(secret);
});

test("a sandbox that is not secure has no access token", async () => {
  await using world = await embeddedClaimScene();
  const process = await world.scene.process();
  const { accessToken } = await process.create({ secure: false });
  expect(accessToken).toBeUndefined();
  expect(world.scene.daemons.at(addressOf(1))?.armed?.body.accessToken).toBeUndefined();
});

test("on the slow path the new container is armed as soon as it answers, before its node reports it", async () => {
  await using world = await embeddedClaimScene({ pool: idleImagePool });
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  const old = scene.daemons.at(addressOf(1));
  const creating = process.create();
  await clock.step(100);
  expect(sandboxPhaseOf(await scene.pod())).toBe("starting");
  expect(old?.armed, "the container that goes is armed for nobody").toBeUndefined();
  scene.daemons.down(addressOf(1));
  await clock.step(300);
  await scene.nodeStarts();
  await clock.step(300);
  const { sandbox } = await creating;
  expect(sandbox.status, "though the label still says that it starts").toBe("Running");
  expect(scene.daemons.at(addressOf(1))?.armed?.sandboxId).toBe(sandbox.sandboxId);
});

test("where nobody knew the old boot, the node's report tells the new container", async () => {
  await using world = await embeddedClaimScene({ pool: idleImagePool });
  const { scene, clock } = world;
  scene.daemons.down(addressOf(1));
  const process = await scene.process();
  await settle();
  const creating = process.create();
  await clock.step(100);
  await scene.nodeStarts();
  await clock.step(5_000);
  expect(scene.daemons.at(addressOf(1))?.armed).toBeUndefined();
  await scene.nodeReports();
  await clock.step(1_000);
  expect((await creating).sandbox.status).toBe("Running");
});

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

test("a caller who leaves while waiting leaves the queue; one who leaves while arming gives the pod back", async () => {
  await using world = await embeddedClaimScene({ pods: 1 });
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  scene.daemons.delayMs = 1_000;
  const [first, second] = [new AbortController(), new AbortController()];
  const arming = refusal(process.create({}, { signal: first.signal }));
  const waiting = refusal(process.create({}, { signal: second.signal }));
  await clock.step(100);
  second.abort();
  expect(await waiting).toMatchObject({ code: "canceled" });
  expect(process.claims.pending({ namespace: "ns", name: "py" })).toBe(0);
  first.abort();
  expect(await arming).toMatchObject({ code: "canceled" });
  await settle();
  const { metadata } = await scene.pod();
  expect([metadata.labels?.[labelKeys.sandboxPhase], metadata.annotations?.[annotationKeys.stopReason]]).toEqual(["stopping", "Canceled"]);
});

test("W7: a sandbox that is not armed by its deadline is given back, and its record says why", async () => {
  await using world = await embeddedClaimScene({ pool: idleImagePool });
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  const failed = refusal(process.create({ startupTimeoutMs: 5_000 }));
  await clock.step(5_000);
  expect(await failed).toMatchObject({ code: "timeout" });
  await settle();
  const { labels = {}, annotations = {} } = (await scene.pod()).metadata;
  expect(labels[labelKeys.sandboxPhase]).toBe("stopping");
  expect([annotations[annotationKeys.stopReason], annotations[annotationKeys.failureReason]]).toEqual(["Canceled", "StartupTimeout"]);
});

test.each(["taken", "refused"] as const)("a daemon that answers %s fails the create and the pod goes back", async (failure) => {
  await using world = await embeddedClaimScene();
  const { scene } = world;
  const process = await scene.process();
  await settle();
  scene.daemons.fail("init", failure);
  expect(await refusal(process.create())).toMatchObject({ code: "start_failed" });
  await settle();
  expect(sandboxPhaseOf(await scene.pod())).toBe("stopping");
});

test("a daemon that does not take what we sign is found out about, and not asked for ever", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  scene.daemons.fail("init", "other-boot");
  const failed = refusal(process.create());
  await clock.step(100);
  expect((await failed).message).toContain("does not take orders that this control plane signs");
});

test("a container that was started anew before it was armed is no sandbox", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  await scene.nodeStarts();
  const failed = refusal(process.create());
  await clock.step(100);
  expect((await failed).message).toContain("started anew");
});

test("a daemon that is silent for a moment is armed when it answers", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  scene.daemons.fail("init", "unreachable", "unreachable");
  const creating = process.create();
  await clock.step(200);
  expect((await creating).sandbox.status).toBe("Running");
});

test("an image that cannot run fails the create with what the node says", async () => {
  await using world = await embeddedClaimScene({ pool: idleImagePool });
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  const failed = refusal(process.create());
  await clock.step(50);
  const [status] = (await scene.pod()).status?.containerStatuses ?? [];
  if (status === undefined) throw new Error("no container is reported");
  const waiting = { reason: "CreateContainerError", message: "no such file: /bin/agent" };
  await scene.nodeReports(1, { containerStatuses: [{ ...status, state: { waiting } }] });
  await clock.step(1_000);
  expect(await failed).toMatchObject({ code: "start_failed", message: expect.stringContaining("no such file: /bin/agent") });
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

test("who does not want to wait has an answer with the claim, and the sandbox comes up by itself", async () => {
  await using world = await embeddedClaimScene({ pool: idleImagePool });
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  const client = new AbortController();
  const { sandbox } = await process.create({}, { wait: false, signal: client.signal });
  expect(sandbox.status).toBe("Starting");
  client.abort();
  await scene.nodeStarts();
  await clock.step(1_000);
  expect(scene.daemons.at(addressOf(1))?.armed?.sandboxId).toBe(sandbox.sandboxId);
  expect(sandboxPhaseOf(await scene.pod())).toBe("starting");
});

test("what fails after the answer ends the sandbox and says why", async () => {
  await using world = await embeddedClaimScene();
  const { scene } = world;
  const process = await scene.process();
  await settle();
  scene.daemons.fail("init", "refused");
  await process.create({}, { wait: false });
  await settle();
  const { labels = {}, annotations = {} } = (await scene.pod()).metadata;
  expect(labels[labelKeys.sandboxPhase]).toBe("stopping");
  expect(annotations[annotationKeys.failureReason]).toBe("StartFailed");
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

test("W27: keys of AgentBox and of the pool's template are refused, by name, and nothing is taken", async () => {
  const template = { metadata: { labels: { app: "base" } }, spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }] } };
  await using world = await embeddedClaimScene({ pool: { template } });
  const { scene } = world;
  const process = await scene.process();
  const reserved = await refusal(process.create({ labels: { [labelKeys.team]: "blue" } }));
  expect(reserved).toMatchObject({ code: "invalid_request", details: { field: `labels.${labelKeys.team}` } });
  const taken = await refusal(process.create({ labels: { app: "mine" } }));
  expect(taken).toMatchObject({ code: "invalid_request", details: { field: "labels.app" } });
  expect(sandboxPhaseOf(await scene.pod())).toBe("idle");
});

test("W31: the image of a container that is named goes before the image of the sandbox", async () => {
  await using world = await embeddedClaimScene();
  const { scene } = world;
  const process = await scene.process();
  const images = { image: "registry.invalid/idle:1", containerImages: { main: "registry.invalid/side:1" } };
  const { sandbox } = await process.create(images, { wait: false });
  expect(sandbox.containerImages["main"]).toContain("registry.invalid/side:1@");
  const unknown = await refusal(process.create({ containerImages: { other: "registry.invalid/side:1" } }));
  expect(unknown).toMatchObject({ code: "invalid_request", details: { field: "containerImages" } });
});

test("a server that ends tells who waits, gives back what it is arming, and refuses what comes", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const process = await scene.process();
  await settle();
  scene.daemons.delayMs = 60_000;
  const arming = refusal(process.create());
  const waiting = refusal(process.create());
  await clock.step(10);
  await process.claims.stop();
  for (const failed of [arming, waiting, refusal(process.create())]) expect(await failed).toMatchObject({ code: "unavailable" });
  expect(sandboxPhaseOf(await scene.pod())).toBe("stopping");
});

test("the same request again with its key is the same sandbox, and one write", async () => {
  await using world = await embeddedClaimScene({ pods: 2 });
  const process = await world.scene.process();
  const [first, second] = [await process.create({ idempotencyKey: "k" }), await process.create({ idempotencyKey: "k" })];
  expect(second.sandbox.sandboxId).toBe(first.sandbox.sandboxId);
  expect(second.sandbox.status).toBe("Running");
  expect((await world.scene.pods()).filter((pod) => sandboxPhaseOf(pod) === "running")).toHaveLength(1);
});

test("of a batch all are had, or none", async () => {
  await using world = await embeddedClaimScene({ pods: 2 });
  const { scene, clock } = world;
  const process = await scene.process();
  const options = { signal: new AbortController().signal, wait: true };
  const command = { from: "ns/py", startupTimeoutMs: 1_000 };
  const failed = refusal(process.claims.createMany(ann, command, { ...options, count: 3 }));
  await clock.step(1_000);
  expect(await failed).toMatchObject({ code: "no_capacity" });
  await settle();
  expect((await scene.pods()).map(sandboxPhaseOf)).toEqual(["stopping", "stopping"]);
});

test("every log line of a create has the sandbox's id", async () => {
  await using world = await embeddedClaimScene();
  const process = await world.scene.process();
  const { sandbox } = await process.create();
  const lines = process.logged.lines.filter(({ msg }) => msg.includes("sandbox"));
  expect(lines.map(({ sandboxId }) => sandboxId)).toEqual([sandbox.sandboxId]);
});
