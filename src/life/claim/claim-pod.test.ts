import { describe, expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys, finalizers } from "#model/keys.ts";
import { Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { addressOf } from "../../../test/world/claim-scene.ts";
import { embeddedClaimScene } from "../../../test/world/embedded-scenes.ts";
import { digestOf } from "../../../test/world/pool-pods.ts";
import { meddled, waysToClaim } from "../../../test/world/meddled-writes.ts";
import { refusal } from "../../../test/world/refusal.ts";
import { settle } from "../../../test/world/stepped-clock.ts";

test.each(waysToClaim)(
  "W5: who loses a pod to another process takes the next one at once (claims on $where)",
  async ({ claimsOnLeases, write }) => {
    await using world = await embeddedClaimScene({ pods: 2, claimsOnLeases });
    const { scene } = world;
    const { client, meddling } = meddled(scene.client);
    const [process, other] = [await scene.process({ client }), await scene.process()];
    await settle();
    let sent = 0;
    meddling[write] = async (send) => {
      if (sent++ === 0) await other.create();
      return send();
    };
    const { sandbox } = await process.create();
    expect(sandbox.status).toBe("Running");
    expect(sent).toBe(2);
    expect((await scene.pods()).filter((pod) => sandboxIdOf(pod) === sandbox.sandboxId)).toHaveLength(1);
    expect(await process.registry.getSingleMetricAsString("agentbox_schedule_cas_outcome_total")).toContain('outcome="lost"} 1');
  },
);

test.each(waysToClaim)(
  "W5: a pod that is not what the cache says is tried once, and again when it is seen anew (claims on $where)",
  async ({ claimsOnLeases, write }) => {
    await using world = await embeddedClaimScene({ pods: 2, claimsOnLeases });
    const { scene, clock } = world;
    const { client, meddling } = meddled(scene.client);
    const process = await scene.process({ client });
    await settle();
    let tries = 0;
    meddling[write] = async () => {
      tries += 1;
      throw new ApiError("Conflict", "somebody was faster");
    };
    const creating = process.create();
    await clock.step(10_000);
    // The writer of the Lease may have meant an earlier use, so the pod is read again.
    expect(tries).toBe(claimsOnLeases ? 2 * 3 : 2);
    meddling[write] = (send) => send();
    await scene.nodeReports(2, { message: "another version" });
    expect((await creating).sandbox.podName).toBe("py-2");
  },
);

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

test.each(waysToClaim)(
  "an answer that never came: the caller is told at once, and a claim that was written is taken back (claims on $where)",
  async ({ claimsOnLeases, write }) => {
    await using world = await embeddedClaimScene({ claimsOnLeases });
    const { scene, clock } = world;
    const { client, meddling } = meddled(scene.client);
    const process = await scene.process({ client });
    await settle();
    let isUp = false;
    meddling[write] = async (send) => {
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
  },
);

test.each(waysToClaim)(
  "a claim that was never written leaves the pod to the next one (claims on $where)",
  async ({ claimsOnLeases, write }) => {
    await using world = await embeddedClaimScene({ claimsOnLeases });
    const { scene, clock } = world;
    const { client, meddling } = meddled(scene.client);
    const process = await scene.process({ client });
    await settle();
    meddling[write] = async () => {
      throw new ApiError("Unreachable", "the connection was refused");
    };
    expect(await refusal(process.create())).toMatchObject({ code: "unavailable" });
    meddling[write] = (send) => send();
    const creating = process.create();
    await clock.step(1_000);
    expect((await creating).sandbox.status).toBe("Running");
  },
);

test("a pool that is deleted ends the requests that wait there", async () => {
  await using world = await embeddedClaimScene({ pods: 0, pool: { replicas: 1 } });
  const { scene } = world;
  const process = await scene.process();
  const failed = refusal(process.create());
  await settle();
  await scene.client.delete(SandboxPools, { namespace: "ns", name: "py" });
  expect(await failed).toMatchObject({ code: "not_found" });
  expect(await refusal(process.create())).toMatchObject({ code: "not_found" });
});

test("a pool that is deleted while a request looks its image up gives out none of its idle pods: they are about to go", async () => {
  await using world = await embeddedClaimScene({ pods: 2 });
  const { scene } = world;
  const key = { namespace: "ns", name: "py" };
  await scene.client.patch(SandboxPools, key, { type: "merge", body: { metadata: { finalizers: [finalizers.pool] } } });
  const resolve = async (): Promise<{ readonly digest: string }> => {
    await scene.client.delete(SandboxPools, key);
    await settle();
    return { digest: digestOf("app") };
  };
  const process = await scene.process({ digests: { resolve } });
  await settle();
  expect(await refusal(process.create())).toMatchObject({ code: "not_found", message: expect.stringContaining("is being deleted") });
  expect((await scene.pods()).map((pod) => sandboxPhaseOf(pod))).toEqual(["idle", "idle"]);
});

test.each(waysToClaim)(
  "a write that the server refuses fails its create, and the pod is the next one's (claims on $where)",
  async ({ claimsOnLeases, write }) => {
    await using world = await embeddedClaimScene({ claimsOnLeases });
    const { scene, clock } = world;
    const { client, meddling } = meddled(scene.client);
    const process = await scene.process({ client });
    await settle();
    meddling[write] = async () => {
      throw new ApiError("Forbidden", "no");
    };
    expect(await refusal(process.create())).not.toMatchObject({ code: "no_capacity" });
    meddling[write] = (send) => send();
    const creating = process.create({ startupTimeoutMs: 1_000 });
    await clock.step(1_000);
    expect((await creating).sandbox.status).toBe("Running");
  },
);

test("where too many wait already, the next one is told at once", async () => {
  await using world = await embeddedClaimScene({ pods: 0, pool: { replicas: 1 } });
  const process = await world.scene.process({ limits: { maxWaiting: 1, maxWaitingOfTenant: 1 } });
  const waiting = refusal(process.create());
  await settle();
  expect(await refusal(process.create())).toMatchObject({ code: "queue_full", details: { retryAfterSeconds: 1, pool: { waiting: 1 } } });
  await process.claims.stop();
  expect(await waiting).toMatchObject({ code: "no_capacity", details: { retryAfterSeconds: 1 } });
});

test.each(waysToClaim)(
  "our own claim is known before any watch tells of it: the same pod is not tried twice (claims on $where)",
  async ({ claimsOnLeases }) => {
    await using world = await embeddedClaimScene({ pods: 2, claimsOnLeases });
    const { scene } = world;
    const process = await scene.process();
    await settle();
    await process.cache.stop();
    const made = [await process.create(), await process.create()];
    expect(new Set(made.map(({ sandbox }) => sandbox.podName)).size).toBe(2);
    expect(await process.registry.getSingleMetricAsString("agentbox_schedule_cas_outcome_total")).not.toContain("lost");
  },
);

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

test.each(waysToClaim)(
  "a write that hangs: its caller is told by the deadline, and the pod is there again for the next one (claims on $where)",
  async ({ claimsOnLeases, write }) => {
    await using world = await embeddedClaimScene({ claimsOnLeases });
    const { scene, clock } = world;
    const { client, meddling } = meddled(scene.client);
    const process = await scene.process({ client });
    await settle();
    meddling[write] = () => new Promise(() => {});
    const failed = refusal(process.create({ startupTimeoutMs: 2_000 }));
    await clock.step(2_000);
    expect(await failed).toMatchObject({ code: "timeout" });
    meddling[write] = (send) => send();
    await clock.step(30_000);
    expect((await process.create()).sandbox.status).toBe("Running");
  },
);

test.each(waysToClaim)(
  "a server that ends does not wait long for an object server that is gone (claims on $where)",
  async ({ claimsOnLeases, write }) => {
    await using world = await embeddedClaimScene({ claimsOnLeases });
    const { scene, clock } = world;
    const { client, meddling } = meddled(scene.client);
    const process = await scene.process({ client });
    await settle();
    meddling[write] = () => new Promise(() => {});
    const failed = refusal(process.create());
    await clock.step(10);
    let isStopped = false;
    const stopping = process.claims.stop().then(() => (isStopped = true));
    expect(await failed).toMatchObject({ code: "no_capacity" });
    await clock.step(4_000);
    expect(isStopped).toBe(false);
    await clock.step(1_000);
    await stopping;
  },
);

describe("a claim that must come to its pod", () => {
  const job = { labels: { "example.com/job": "j1" } };
  const onLeases = { claimsOnLeases: true };

  test("costs a second write, of the pod, before its daemon is armed", async () => {
    await using world = await embeddedClaimScene(onLeases);
    const { scene } = world;
    const { client, meddling } = meddled(scene.client);
    const process = await scene.process({ client });
    await settle();
    const writes: string[] = [];
    meddling.lease = (send) => (writes.push("lease"), send());
    meddling.patch = (send) => (writes.push(`pod, ${scene.daemons.at(addressOf(1))?.armed === undefined ? "not armed" : "armed"}`), send());
    const { sandbox } = await process.create(job);
    expect(writes).toEqual(["lease", "pod, not armed"]);
    const pod = await scene.client.get(Pods, { namespace: "ns", name: "py-1" });
    expect([sandboxIdOf(pod), pod.metadata.labels?.["example.com/job"]]).toEqual([sandbox.sandboxId, "j1"]);
  });

  test.each([
    ["is refused", async () => Promise.reject(new ApiError("Invalid", "no", { causes: [{ field: "f", reason: "r", message: "m" }] })), {}],
    ["gets no answer", async () => Promise.reject(new ApiError("Unreachable", "the connection was refused")), { code: "unavailable" }],
    [
      "gets no answer and was done",
      async (send: () => Promise<unknown>) => (await send(), Promise.reject(new ApiError("Unreachable", "reset"))),
      {},
    ],
    ["hangs", () => new Promise(() => {}), { code: "timeout" }],
  ])("and whose second write %s is given back, and its daemon armed for nobody", async (_, write, wanted) => {
    await using world = await embeddedClaimScene(onLeases);
    const { scene, clock } = world;
    const { client, meddling } = meddled(scene.client);
    const process = await scene.process({ client });
    await settle();
    meddling.patch = async (send) => {
      meddling.patch = (again) => again();
      return write(send);
    };
    const failed = refusal(process.create({ ...job, startupTimeoutMs: 2_000 }));
    await clock.step(2_000);
    expect(await failed).toMatchObject({ name: "ServiceError", ...wanted });
    await clock.step(10_000);
    const pod = await scene.client.get(Pods, { namespace: "ns", name: "py-1" });
    expect([sandboxPhaseOf(pod), pod.metadata.annotations?.[annotationKeys.stopReason]]).toEqual(["stopping", "Canceled"]);
    expect(scene.daemons.at(addressOf(1))?.armed).toBeUndefined();
  });

  test("is given back when its sandbox's time is over before", async () => {
    await using world = await embeddedClaimScene({ ...onLeases, pods: 1 });
    const { scene, clock } = world;
    const { client, meddling } = meddled(scene.client);
    const process = await scene.process({ client });
    await settle();
    const late = Promise.withResolvers<void>();
    meddling.patch = async (send) => {
      meddling.patch = (again) => again();
      await late.promise;
      return send();
    };
    const failed = refusal(process.create({ ...job, startupTimeoutMs: 2_000 }));
    await clock.step(2_000);
    expect(await failed).toMatchObject({ code: "timeout" });
    await settle();
    expect(sandboxPhaseOf(await scene.pod())).toBe("stopping");
    // What was sent before comes too late, and brings nothing back.
    late.resolve();
    await clock.step(10_000);
    expect(sandboxPhaseOf(await scene.pod())).toBe("stopping");
  });
});

test("a pod that is gone when its claim comes to it is left, and the request has another one, as another sandbox", async () => {
  await using world = await embeddedClaimScene({ pods: 2, claimsOnLeases: true });
  const { scene } = world;
  const { client, meddling } = meddled(scene.client);
  const process = await scene.process({ client });
  await settle();
  let gone: string | undefined;
  meddling.patch = async (send) => {
    const name = (await scene.pods()).find((pod) => sandboxIdOf(pod) !== undefined)?.metadata.name ?? "";
    if (gone === undefined) await remove(name);
    gone ??= name;
    return send();
  };
  const remove = async (name: string): Promise<void> => {
    await scene.client.patch(Pods, { namespace: "ns", name }, { type: "merge", body: { metadata: { finalizers: null } } });
    await scene.client.delete(Pods, { namespace: "ns", name }, { gracePeriodSeconds: 0 });
  };
  // What its caller brought along must be on the pod itself.
  const { sandbox } = await process.create({ labels: { "example.com/job": "j1" } });
  expect(sandbox.status).toBe("Running");
  expect(sandbox.podName).not.toBe(gone);
  expect((await scene.pods()).map((pod) => [pod.metadata.name, sandboxIdOf(pod)])).toEqual([[sandbox.podName, sandbox.sandboxId]]);
});

describe("a pool without a free pod", () => {
  const degraded = (reason: string, message: string) => ({
    status: { conditions: [{ type: "Degraded", status: "True", reason, message, lastTransitionTime: "2026-01-01T00:00:00Z" }] },
  });

  test("of 0 replicas is not waited at: the create says so at once, and what to do, and of no time to try again", async () => {
    await using world = await embeddedClaimScene({ pods: 0 });
    const process = await world.scene.process();
    const failed = await refusal(process.create());
    expect(failed).toMatchObject({ code: "no_capacity", message: expect.stringContaining("agentbox scale py 1") });
    expect(failed.details.retryAfterSeconds).toBeUndefined();
  });

  test("that cannot make any is not waited at: the create says what the pool says", async () => {
    await using world = await embeddedClaimScene({ pods: 0, pool: { replicas: 1 } });
    const { client } = world.scene;
    const body = degraded("PodsNotStarting", "pods end before they are ready; the last one, py-1: PodFailed: hostPath");
    await client.patch(SandboxPools, { namespace: "ns", name: "py" }, { type: "merge", body }, { subresource: "status" });
    const process = await world.scene.process();
    const failed = await refusal(process.create());
    expect(failed).toMatchObject({ code: "no_capacity", message: expect.stringContaining("the last one, py-1: PodFailed: hostPath") });
    expect(failed.details.retryAfterSeconds).toBeUndefined();
  });

  test("says when the first of its sandboxes ends, and nothing where none has an end", async () => {
    await using world = await embeddedClaimScene({ pods: 1 });
    const { scene, clock } = world;
    const process = await scene.process();
    const { sandbox } = await process.create({ lifetimeMs: 60_000 });
    const soon = refusal(process.create({ startupTimeoutMs: 1_000 }));
    await clock.step(1_000);
    expect((await soon).details.retryAfterSeconds).toBe(59);
    const annotations = { [annotationKeys.endTime]: null };
    await scene.client.patch(Pods, { namespace: "ns", name: sandbox.podName }, { type: "merge", body: { metadata: { annotations } } });
    const never = refusal(process.create({ startupTimeoutMs: 1_000 }));
    await clock.step(1_000);
    expect((await never).details.retryAfterSeconds).toBeUndefined();
  });
});
