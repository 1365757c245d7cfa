import { describe, expect, test } from "vitest";
import { ImageError } from "#images/image-error.ts";
import { ApiError } from "#kube/api-error.ts";
import type { DigestOptions } from "#pools/pool-images.ts";
import { annotationKeys, labelKeys, onDemandRecyclePolicy } from "#model/keys.ts";
import { Pods } from "#model/pod.ts";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { embeddedClaimScene } from "../../../test/world/embedded-scenes.ts";
import { meddled } from "../../../test/world/meddled-writes.ts";
import { digestOf } from "../../../test/world/pool-pods.ts";
import { refusal } from "../../../test/world/refusal.ts";
import { settle } from "../../../test/world/stepped-clock.ts";
import type { LimitGuard } from "#services/limits/limit-guard.ts";

const from = "ns/e";
const enabled = (more: object = {}) => ({ autoscaling: { groups: [{ name: "default", enabled: true, ...more }] } });

describe("a create that names an Env", () => {
  test("gets a pod of a member pool, built for that pool", async () => {
    await using world = await embeddedClaimScene({ pods: 0 });
    const { scene } = world;
    await scene.addEnv("e", {
      "e-a": { pool: { defaultIdleTimeout: "5m" } },
      "e-b": { pool: { defaultIdleTimeout: "9m", defaultStartupTimeout: "30s" } },
    });
    await scene.addPod(1, "e-b");
    const process = await scene.process();
    const { sandbox } = await process.create({ from });
    expect(sandbox).toMatchObject({ status: "Running", poolName: "e-b", envName: "e", idleTimeoutMs: 540_000, startupTimeoutMs: 30_000 });
  });

  test("W18: goes to the pool that has a pod, and not to the preferred one without", async () => {
    await using world = await embeddedClaimScene({ pods: 0 });
    const { scene } = world;
    await scene.addEnv("e", { "e-a": { config: { priority: -100 } }, "e-b": { config: { priority: 100 } } });
    await scene.addPod(1, "e-b");
    const process = await scene.process();
    expect((await process.create({ from })).sandbox.poolName).toBe("e-b");
    await scene.addPod(2, "e-b");
    await scene.addPod(3, "e-a");
    await settle();
    expect((await process.create({ from })).sandbox.poolName, "priority decides among pools that have one").toBe("e-a");
  });

  test("goes to a pool whose pod waits on the wanted image before one whose pod has to exchange it", async () => {
    await using world = await embeddedClaimScene({ pods: 0 });
    const { scene } = world;
    const idle = { podCreationImagePolicy: "IdleImage", idleImage: "registry.invalid/idle:1" } as const;
    await scene.addEnv("e", { "e-a": { config: { priority: -1 }, pool: idle }, "e-b": {} });
    await scene.addPod(1, "e-a");
    await scene.addPod(2, "e-b");
    const process = await scene.process();
    expect((await process.create({ from })).sandbox.poolName).toBe("e-b");
  });

  test("waits at all pools at once, is counted once, and takes the first pod that any of them offers", async () => {
    await using world = await embeddedClaimScene({ pods: 0 });
    const { scene } = world;
    await scene.addEnv("e", { "e-a": {}, "e-b": {} });
    const process = await scene.process();
    const creating = process.create({ from });
    await settle();
    expect(process.claims.pending({ namespace: "ns", name: "e-a" })).toBe(1);
    expect(process.claims.pending({ namespace: "ns", name: "e-b" })).toBe(1);
    expect(process.claims.waitingSets()).toEqual([{ pools: ["ns/e-a", "ns/e-b"], count: 1 }]);
    await scene.addPod(1, "e-b");
    expect((await creating).sandbox.poolName).toBe("e-b");
    expect(process.claims.waitingSets()).toEqual([]);
    const misses = await process.registry.getSingleMetricAsString("agentbox_create_misses_total");
    expect(misses).toContain('namespace="ns",pool="e-b",sandbox_env="e"} 1');
  });

  test("goes on waiting when one of its pools is deleted, and ends when all are", async () => {
    await using world = await embeddedClaimScene({ pods: 0 });
    const { scene } = world;
    await scene.addEnv("e", { "e-a": {}, "e-b": {} });
    const process = await scene.process();
    const [served, lost] = [process.create({ from }), refusal(process.create({ from }))];
    await settle();
    await scene.client.delete(SandboxPools, { namespace: "ns", name: "e-a" });
    await settle();
    await scene.addPod(1, "e-b");
    expect((await served).sandbox.poolName).toBe("e-b");
    await scene.client.delete(SandboxPools, { namespace: "ns", name: "e-b" });
    expect(await lost).toMatchObject({ code: "not_found", message: "the pools of Env e are being deleted" });
  });

  test("counts once against the limits of its team, however many pools could serve it", async () => {
    await using world = await embeddedClaimScene({ pods: 0 });
    const { scene } = world;
    await scene.addEnv("e", { "e-a": {}, "e-b": {} });
    await scene.addPod(1, "e-a");
    await scene.addPod(2, "e-b");
    const reserved: unknown[] = [];
    const reserve: LimitGuard["reserve"] = (owner, wanted) => {
      reserved.push([owner, wanted]);
      return { release: () => {}, [Symbol.dispose]: () => {} };
    };
    const process = await scene.process({ guard: { reserve } });
    await process.create({ from });
    expect(reserved).toMatchObject([[{ team: "red", user: "ann" }, { sandboxes: 1 }]]);
  });

  test("with an image that one of its pools cannot pull goes to another", async () => {
    await using world = await embeddedClaimScene({ pods: 0 });
    const { scene } = world;
    const secrets = { spec: { imagePullSecrets: [{ name: "closed" }], containers: [{ name: "main", image: "registry.invalid/app:1" }] } };
    await scene.addEnv("e", { "e-a": { config: { priority: -1 }, pool: { template: secrets } }, "e-b": {} });
    await scene.addPod(1, "e-a");
    await scene.addPod(2, "e-b");
    const resolve = async (_: string, { puller }: DigestOptions) => {
      if (puller?.imagePullSecrets !== undefined) throw new ImageError("unauthorized", "no access");
      return { digest: digestOf("app") };
    };
    const process = await scene.process({ digests: { resolve } });
    expect((await process.create({ from })).sandbox.poolName).toBe("e-b");
    expect(await refusal(process.create({ from: "ns/e-a" }))).toMatchObject({ code: "image_unavailable" });
  });

  test("that loses its pod to another process takes a pod of another pool", async () => {
    await using world = await embeddedClaimScene({ pods: 0 });
    const { scene } = world;
    await scene.addEnv("e", { "e-a": { config: { priority: -1 } }, "e-b": { pool: { defaultIdleTimeout: "9m" } } });
    await scene.addPod(1, "e-a");
    await scene.addPod(2, "e-b");
    const { client, meddling } = meddled(scene.client);
    const process = await scene.process({ client });
    let sent = 0;
    meddling.patch = async (send) => {
      if (sent++ === 0) throw new ApiError("Conflict", "another process was faster");
      return send();
    };
    expect((await process.create({ from })).sandbox).toMatchObject({ poolName: "e-b", idleTimeoutMs: 540_000 });
  });

  test("goes before a pool of the same name; the pools of the Env can be named too", async () => {
    await using world = await embeddedClaimScene({ pods: 1 });
    const { scene } = world;
    await scene.addEnv("py", { "py-a": {}, "py-b": {} });
    await scene.addPod(2, "py-a");
    await scene.addPod(3, "py-b");
    const process = await scene.process();
    expect((await process.create({ from: "ns/py" })).sandbox.envName).toBe("py");
    expect((await process.create({ from: "ns/py-b" })).sandbox.poolName).toBe("py-b");
  });

  test("is not found by callers of other teams", async () => {
    await using world = await embeddedClaimScene({ pods: 0 });
    const { scene } = world;
    await scene.addEnv("e", { "e-a": {} }, { labels: { [labelKeys.team]: "blue" } });
    const process = await scene.process();
    const refused = await refusal(process.create({ from }));
    expect(refused).toMatchObject({ code: "not_found", details: { field: "from" } });
    expect(refused.details.available).not.toContain("ns/e");
    expect(await refusal(process.create({ from: "ns/e-a" })), "nor are its pools").toMatchObject({ code: "not_found" });
  });
});

describe("what a request asks of an Env", () => {
  const sizes = {
    "e-s": { config: { instanceType: "cpu", multiplier: 1, scalingGroup: "s" }, resources: { cpu: "1", memory: "1Gi" } },
    "e-l": { config: { instanceType: "cpu", multiplier: 4, scalingGroup: "l" }, resources: { cpu: "4", memory: "4Gi" } },
  };

  async function sized(defaults?: { readonly instanceType: string; readonly multiplier: number }) {
    const world = await embeddedClaimScene({ pods: 0 });
    await world.scene.addEnv("e", sizes, defaults === undefined ? {} : { spec: { defaults } });
    for (const [index, pool] of Object.keys(sizes).entries()) await world.scene.addPod(index + 1, pool);
    return { world, process: await world.scene.process() };
  }

  test.each([
    [{ instanceType: "cpu", multiplier: 4 }, "e-l"],
    [{ scalingGroup: "l" }, "e-l"],
    [{ cpu: 1, memory: 2 ** 30 }, "e-s"],
    [{ memory: 2 * 2 ** 30 }, "e-l"],
  ] as const)("%j is served by %s", async (wishes, pool) => {
    const { world, process } = await sized();
    await using _ = world;
    expect((await process.create({ from, ...wishes })).sandbox.poolName).toBe(pool);
  });

  test("the default size of the Env is used where the request names none", async () => {
    const { world, process } = await sized({ instanceType: "cpu", multiplier: 4 });
    await using _ = world;
    expect((await process.create({ from })).sandbox.poolName).toBe("e-l");
  });

  test("what no member offers is refused with the field and what there is", async () => {
    const { world, process } = await sized();
    await using _ = world;
    expect(await refusal(process.create({ from, instanceType: "gpu" }))).toMatchObject({
      code: "invalid_request",
      details: { field: "instanceType", available: ["cpu"] },
    });
    expect(await refusal(process.create({ from, cpu: 9 }))).toMatchObject({
      code: "invalid_request",
      details: { field: "cpu", available: ["1 CPU and 1024 MiB", "4 CPU and 4096 MiB"] },
    });
    expect(await refusal(process.create({ from, templateVersion: "7" }))).toMatchObject({
      code: "not_found",
      details: { field: "templateVersion" },
    });
  });

  test("only members of the wanted template version serve a request that names one", async () => {
    await using world = await embeddedClaimScene({ pods: 0 });
    const { scene } = world;
    const version = (text: string) => ({ annotations: { [annotationKeys.templateVersion]: text } });
    await scene.addEnv("e", { "e-a": version("1"), "e-b": version("2") });
    await scene.addPod(1, "e-a");
    await scene.addPod(2, "e-b");
    const process = await scene.process();
    expect((await process.create({ from, templateVersion: "2" })).sandbox.poolName).toBe("e-b");
    expect(await refusal(process.create({ from, templateVersion: "3" }))).toMatchObject({ details: { available: ["1", "2"] } });
  });
});

describe("an Env without a free pod", () => {
  test("whose group may not grow is told at once, with the remedy", async () => {
    await using world = await embeddedClaimScene({ pods: 0 });
    const { scene } = world;
    await scene.addEnv("e", { "e-a": { pool: { replicas: 0 } } });
    const process = await scene.process();
    const refused = (await refusal(process.create({ from }))) as { readonly details: object };
    expect(refused).toMatchObject({
      code: "no_capacity",
      message:
        "Env e cannot have a pod: pool e-a has 0 replicas, so no pod can become free: enable autoscaling of its group default, or raise the member's replicas",
    });
    expect(refused.details, "waiting does not help, so nothing is said about when to try again").not.toHaveProperty("retryAfterSeconds");
  });

  test.each([
    ["enabled", enabled()],
    ["of mode OnDemandJob", { mode: "OnDemandJob" } as const],
  ])("%s makes one for the request, which waits", async (_, spec) => {
    await using world = await embeddedClaimScene({ pods: 0 });
    const { scene } = world;
    await scene.addEnv("e", { "e-a": { pool: { replicas: 0 } } }, { spec });
    const process = await scene.process();
    const creating = process.create({ from });
    await settle();
    expect(process.claims.pending({ namespace: "ns", name: "e-a" })).toBe(1);
    await scene.addPod(1, "e-a");
    expect((await creating).sandbox.poolName).toBe("e-a");
  });

  test("whose members cannot grow answers at the deadline with how they stand and why", async () => {
    await using world = await embeddedClaimScene({ pods: 0 });
    const { scene, clock } = world;
    await scene.addEnv("e", { "e-a": { pool: { replicas: 0 } }, "e-b": { config: { maxReplicas: 1 } } }, { spec: enabled() });
    const saturatedUntil = new Date(clock.now() + 60_000).toISOString().replace(/\.\d+Z$/, "Z");
    const status = { autoscaling: { saturatedUntil, scaleUpErrorMessage: "node pool x is full" } };
    await scene.client.patch(
      SandboxPools,
      { namespace: "ns", name: "e-a" },
      { type: "merge", body: { status } },
      { subresource: "status" },
    );
    await scene.addPod(1, "e-b");
    const process = await scene.process();
    await process.create({ from });
    await settle();
    const refused = refusal(process.create({ from, waitMs: 2000 }));
    await clock.step(2000);
    expect(await refused).toMatchObject({
      code: "no_capacity",
      message:
        "no pod of Env e became free within 2 s: pool e-a: 0 of 0 pods are in use, cannot grow: node pool x is full; pool e-b: 1 of 1 pods are in use, at its maximum; and 0 more requests wait",
      details: { env: "e", pool: { idle: 0, running: 1 } },
    });
  });

  test("without members says that it has none", async () => {
    await using world = await embeddedClaimScene({ pods: 0 });
    const { scene } = world;
    await scene.client.create(SandboxEnvs, {
      metadata: { namespace: "ns", name: "e" },
      spec: { templateRef: { name: "app" }, mode: "WarmPool" },
    });
    const process = await scene.process();
    expect(await refusal(process.create({ from }))).toMatchObject({
      code: "conflict",
      message: "Env e has no members: add one to create sandboxes from it",
    });
  });

  test("with something wrong is refused with what it is, and another try is offered only where it may help", async () => {
    await using world = await embeddedClaimScene({ pods: 0 });
    const { scene } = world;
    const key = { namespace: "ns", name: "e" };
    const clusters = [{ clusterID: "local", members: [{ name: "e-a" }] }];
    await scene.client.create(SandboxEnvs, { metadata: key, spec: { templateRef: { name: "none" }, mode: "WarmPool", clusters } });
    const process = await scene.process();
    const { retryAfterSeconds } = ((await refusal(process.create({ from }))) as { details: { retryAfterSeconds?: number } }).details;
    expect(retryAfterSeconds).toBe(1);
    const lastTransitionTime = "2026-01-01T00:00:00Z";
    const message = "spec.templateRef.name: there is no SandboxTemplate none; create it";
    const conditions = [{ type: "Ready", status: "False" as const, reason: "TemplateMissing", message, lastTransitionTime }];
    await scene.client.patch(SandboxEnvs, key, { type: "merge", body: { status: { conditions } } }, { subresource: "status" });
    await settle();
    expect(await refusal(process.create({ from }))).toMatchObject({
      code: "conflict",
      message: `Env e has no pool: ${message}`,
      details: { field: "from" },
    });
  });
});

test("the pod of an on-demand pool is deleted after its sandbox, and not used again", async () => {
  await using world = await embeddedClaimScene({ pods: 0 });
  const { scene, clock } = world;
  const containers = [{ name: "main", image: "registry.invalid/app:1" }];
  const template = { metadata: { annotations: { [annotationKeys.recyclePolicy]: onDemandRecyclePolicy } }, spec: { containers } };
  // With a replica, so that nothing but the policy is a reason to delete the pod.
  await scene.addEnv("e", { "e-a": { pool: { replicas: 1, template } } }, { spec: { mode: "OnDemandJob" } });
  await scene.addPod(1, "e-a");
  const process = await scene.process();
  const { sandbox } = await process.create({ from });
  scene.startControllers(process);
  await process.claims.end({ role: "admin", team: "", keyId: "k" }, sandbox.sandboxId);
  await clock.step(5000);
  const left = (await scene.client.list(Pods, { namespace: "ns" })).items.filter(({ metadata }) => metadata.name === sandbox.podName);
  expect(left.every(({ metadata }) => metadata.deletionTimestamp !== undefined)).toBe(true);
});
