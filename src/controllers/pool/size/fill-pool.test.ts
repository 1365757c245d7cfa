import { describe, expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import { conditionIn } from "#model/conditions.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { embeddedPoolScene } from "../../../../test/world/embedded-pool-scene.ts";
import type { ClaimPressure } from "#life/claim/claim-pressure.ts";

const minute = 60_000;
const degradedReason = (pool: SandboxPool): string | undefined => conditionIn(pool, "Degraded")?.reason;

describe("calls that fail", () => {
  test("W8: a create that was refused leaves nothing to wait for, and the pool is full as soon as it is let", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    let isRefusing = true;
    scene.watched.before = ({ verb, of }) => {
      if (isRefusing && verb === "create" && of === "pods") throw new ApiError("Forbidden", "quota: too many pods");
    };
    await scene.createPool({ replicas: 3 });
    await world.quiet();
    await clock.step(1_000);
    const pool = await scene.pool();
    expect(degradedReason(pool)).toBe("PodsRefused");
    expect(conditionIn(pool, "Degraded")?.message).toContain("quota: too many pods");
    expect(await scene.told()).toContainEqual(expect.stringContaining("Warning PodsRefused"));
    isRefusing = false;
    await clock.step(10_000);
    await world.filled();
    expect(await scene.pods()).toHaveLength(3);
  });

  test("a server that refuses a pod is not asked for all the others", async () => {
    await using world = await embeddedPoolScene();
    const { scene } = world;
    scene.watched.before = ({ verb, of }) => {
      if (verb === "create" && of === "pods") throw new ApiError("Forbidden", "quota");
    };
    await scene.createPool({ replicas: 200 });
    await world.quiet();
    expect(scene.watched.take().filter((call) => call === "create pods").length).toBeLessThanOrEqual(8);
  });

  test("a create whose answer was lost is asked for again under the same name, and makes no second pod", async () => {
    await using world = await embeddedPoolScene();
    const { scene } = world;
    let lost = 0;
    scene.watched.after = ({ verb, of }) => {
      if (verb === "create" && of === "pods" && lost++ < 3) throw new ApiError("Unreachable", "the connection was cut");
    };
    await scene.createPool({ replicas: 3 });
    await world.filled();
    expect(await scene.pods()).toHaveLength(3);
    expect(degradedReason(await scene.pool())).not.toBe("PodsRefused");
  });
});

test("I10: a pool that was replaced by another of its name gets no pods for as long as the cache does not know", async () => {
  await using world = await embeddedPoolScene();
  const { scene } = world;
  await scene.createPool({ replicas: 2 });
  await world.filled();
  const told = Promise.withResolvers<void>();
  scene.watched.late = { of: "sandboxpools", until: told.promise };
  await scene.changePool({ metadata: { finalizers: null } });
  await scene.client.delete(SandboxPools, scene.key("py"));
  const another = await scene.createPool({ replicas: 3 });
  scene.watched.take();
  await world.quiet();
  expect(scene.watched.take()).not.toContain("create pods");
  expect(await scene.allPods()).toEqual([]);
  told.resolve();
  await world.filled();
  const owners = (await scene.pods()).map(({ metadata }) => metadata.ownerReferences?.[0]?.uid);
  expect(owners).toEqual(Array.from({ length: 3 }, () => another.metadata.uid));
});

describe("claims", () => {
  function underPressure(): { inFlight: number; pressure: ClaimPressure } {
    const state = { inFlight: 0 };
    const pressure = { inFlight: () => state.inFlight, waiting: () => 0, setsAt: () => [], onWaiting: () => () => {} };
    return Object.assign(state, { pressure });
  }

  test("refill makes a few pods at a time beside claims, as long as there is something to claim", async () => {
    const state = underPressure();
    await using world = await embeddedPoolScene({ pressure: state.pressure });
    const { scene, clock } = world;
    await scene.createPool({ replicas: 2 });
    await world.filled();
    state.inFlight = 3;
    await scene.scale(20);
    await world.quiet();
    expect(await scene.pods()).toHaveLength(2);
    await clock.step(100);
    expect(await scene.pods()).toHaveLength(6);
    await clock.step(100);
    expect(await scene.pods()).toHaveLength(10);
    state.inFlight = 0;
    await clock.step(100);
    expect(await scene.pods()).toHaveLength(20);
  });

  test("refill does not hold back when there is nothing to claim", async () => {
    const state = underPressure();
    state.inFlight = 3;
    await using world = await embeddedPoolScene({ pressure: state.pressure });
    await world.scene.createPool({ replicas: 20 });
    await world.quiet();
    expect(await world.scene.pods()).toHaveLength(20);
  });
});

describe("images", () => {
  test("a pool whose image nobody knows says so, tells it, and asks again with growing pauses", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    let asked = 0;
    scene.resolve = () => {
      asked += 1;
      throw new Error("manifest unknown");
    };
    await scene.createPool({ replicas: 1 });
    await world.quiet();
    await clock.step(1_000);
    const pool = await scene.pool();
    expect(degradedReason(pool)).toBe("ImageUnavailable");
    expect(conditionIn(pool, "Degraded")?.message).toContain("registry.invalid/app:1");
    expect(await scene.told()).toContainEqual(expect.stringMatching(/Warning ImageUnavailable .*manifest unknown/));
    asked = 0;
    await clock.step(60 * minute);
    expect(asked).toBeGreaterThan(5);
    expect(asked).toBeLessThan(40);
    scene.resolve = () => `sha256:${"a".repeat(64)}`;
    await clock.step(5 * minute);
    await world.filled();
    await clock.step(1_000);
    expect(await scene.pods()).toHaveLength(1);
    expect(degradedReason(await scene.pool())).toBe("AllPodsHealthy");
  });

  test("what the user changes is tried at once, whatever pause was due", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    scene.resolve = (image) => {
      if (image.includes("typo")) throw new Error("manifest unknown");
      return `sha256:${"a".repeat(64)}`;
    };
    const template = (image: string) => ({ spec: { containers: [{ name: "main", image }] } });
    await scene.createPool({ replicas: 1, template: template("registry.invalid/typo:1") });
    await world.quiet();
    await clock.step(60 * minute);
    await scene.changePool({ spec: { template: template("registry.invalid/app:2") } });
    await world.filled();
    expect((await scene.pods())[0]?.spec.containers[0]?.image).toContain("registry.invalid/app:2");
  });

  test("while the registry is away pods are made of the digest that is known, also by another process", async () => {
    await using world = await embeddedPoolScene();
    const digest = `sha256:${"b".repeat(64)}`;
    world.scene.resolve = () => digest;
    await world.scene.createPool({ replicas: 1 });
    await world.filled();
    await world.clock.step(1_000);
    expect((await world.scene.pool()).status?.resolvedImages).toEqual([
      { image: "registry.invalid/app:1", digest, resolvedAt: expect.any(String) },
    ]);
    await world.restart();
    const { scene, clock } = world;
    scene.resolve = () => {
      throw new Error("connection refused");
    };
    await scene.scale(2);
    await world.filled();
    await clock.step(1_000);
    const pods = await scene.pods();
    expect(pods.map(({ spec }) => spec.containers[0]?.image?.split("@")[1])).toEqual([digest, digest]);
    expect(await scene.told()).toContainEqual(
      expect.stringMatching(/Warning ImageNotChecked .*connection refused; pods still use sha256:b/),
    );
    expect(degradedReason(await scene.pool())).toBe("AllPodsHealthy");
  });
});
