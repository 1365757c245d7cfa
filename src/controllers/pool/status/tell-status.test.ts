import { describe, expect, test } from "vitest";
import { labelKeys } from "#model/keys.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { embeddedPoolScene } from "../../../../test/world/embedded-pool-scene.ts";
import type { ClaimPressure } from "#life/claim/claim-pressure.ts";

const name = (pod: Pod | undefined): string => pod?.metadata.name ?? "";

describe("status", () => {
  test("a thousand changes of pods in one second are a few writes of the status, and the last of them is true", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    await scene.createPool({ replicas: 10 });
    await world.filled();
    await clock.step(1_000);
    scene.watched.take();
    const pods = await scene.pods();
    for (let change = 0; change < 1_000; change++) {
      const phase = change % 2 === 0 ? "starting" : "idle";
      await scene.changePod(pods[change % 10] as Pod, { labels: { [labelKeys.sandboxPhase]: phase } });
      await clock.step(1);
    }
    await clock.step(1_000);
    const writes = scene.watched.take().filter((call) => call === "patch sandboxpools/status");
    expect(writes.length).toBeGreaterThan(0);
    expect(writes.length).toBeLessThanOrEqual(3);
    const now = await scene.pods();
    const idle = now.filter(({ metadata }) => metadata.labels?.[labelKeys.sandboxPhase] === "idle").length;
    expect((await scene.pool()).status).toMatchObject({ replicas: 10, idleReplicas: idle, startingReplicas: 10 - idle });
  });

  test("a pool at which nothing changes is not written", async () => {
    await using world = await embeddedPoolScene();
    await world.scene.createPool({ replicas: 2 });
    await world.filled();
    await world.clock.step(1_000);
    world.scene.watched.take();
    await world.clock.step(60 * 60_000);
    expect(world.scene.watched.take()).toEqual([]);
  });

  test("W11: the status counts all requests that wait, as soon as they do and until they do not", async () => {
    let waiting = 0;
    const handlers = new Set<Parameters<ClaimPressure["onWaiting"]>[0]>();
    const pressure: ClaimPressure = {
      inFlight: () => 0,
      waiting: () => waiting,
      setsAt: () => [],
      onWaiting: (handler) => {
        handlers.add(handler);
        return () => handlers.delete(handler);
      },
    };
    await using world = await embeddedPoolScene({ pressure });
    const { scene, clock } = world;
    await scene.createPool({ replicas: 0 });
    await world.quiet();
    await clock.step(1_000);
    waiting = 7;
    for (const handler of handlers) handler(scene.key("py"));
    await world.quiet();
    expect((await scene.pool()).status?.pendingRequests).toBe(7);
    waiting = 0;
    await clock.step(5_000);
    expect((await scene.pool()).status?.pendingRequests).toBe(0);
    await world.restart();
    expect(handlers.size).toBe(1);
  });

  test("the number of waiting requests is written every 3 s at most, and only when it differs by a fifth", async () => {
    let waiting = 10;
    const pressure: ClaimPressure = { inFlight: () => 0, waiting: () => waiting, setsAt: () => [], onWaiting: () => () => {} };
    await using world = await embeddedPoolScene({ pressure });
    const { scene, clock } = world;
    const told = async () => (await scene.pool()).status?.pendingRequests;
    await scene.createPool({ replicas: 0 });
    await world.quiet();
    await clock.step(3_000);
    expect(await told()).toBe(10);
    scene.watched.take();
    waiting = 11;
    await clock.step(60_000);
    expect([await told(), scene.watched.take()]).toEqual([10, []]);
    waiting = 12;
    await clock.step(3_000);
    expect(await told()).toBe(12);
    waiting = 30;
    await clock.step(2_000);
    expect(await told()).toBe(12);
    await clock.step(1_000);
    expect(await told()).toBe(30);
  });
});

describe("events", () => {
  test("a pool tells that it grows, is ready and shrinks", async () => {
    await using world = await embeddedPoolScene({ pace: { maxCreations: 1 }, protectionWindowMs: () => 10_000 });
    const { scene, clock } = world;
    await scene.createPool({ replicas: 2 });
    await world.filled();
    await clock.step(1_000);
    await scene.scale(0);
    await world.quiet();
    await clock.step(1_000);
    expect((await scene.told()).sort()).toEqual([
      expect.stringMatching(/^Normal PoolReady \(1\): all 2 pods/),
      expect.stringMatching(/^Normal ScalingDown \(1\): .* until there are 0$/),
      expect.stringMatching(/^Normal ScalingUp \(1\): .* until there are 2$/),
    ]);
  });

  test("failed pods are told once, and that the pool is well again", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    await scene.createPool({ replicas: 1 });
    await world.filled();
    await clock.step(1_000);
    const [pod] = await scene.pods();
    const deleted = Promise.withResolvers<void>();
    scene.watched.before = ({ verb, of }) => (verb === "delete" && of === "pods" ? deleted.promise : undefined);
    await scene.changePod(pod as Pod, { labels: { [labelKeys.sandboxPhase]: "failed" } });
    await world.quiet();
    await clock.step(10_000);
    const warnings = (await scene.told()).filter((line) => line.startsWith("Warning"));
    expect(warnings).toEqual(["Warning Degraded (1): 1 pods have failed"]);
    deleted.resolve();
    await world.filled();
    await clock.step(1_000);
    expect(await scene.told()).toContain("Normal PoolRecovered (1): all pods are healthy again");
  });

  test("what of a template is not kept is told once for each template", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    const spec = { restartPolicy: "Never", containers: [{ name: "main", image: "registry.invalid/app:1" }] } as const;
    await scene.createPool({ replicas: 1, template: { spec } });
    await world.filled();
    await scene.scale(2);
    await world.filled();
    await clock.step(1_000);
    const adjusted = (await scene.told()).filter((line) => line.includes("TemplateAdjusted"));
    expect(adjusted).toEqual(["Warning TemplateAdjusted (1): restartPolicy is Always and not Never"]);
  });
});

describe("gauges", () => {
  test("a pool's sizes are read when somebody looks, and are gone with it", async () => {
    await using world = await embeddedPoolScene();
    const { scene, clock } = world;
    await scene.createPool({ replicas: 3 });
    await world.filled();
    const [pod] = await scene.pods();
    await scene.claim(pod as Pod, "i1");
    await world.quiet();
    const value = async (what: string): Promise<string> => {
      const text = await scene.metric(`agentbox_sandboxpool_replicas_${what}`);
      return /\{[^}]*pool="py"[^}]*\} (\S+)/.exec(text)?.[1] ?? "none";
    };
    const all = (): Promise<string[]> => Promise.all(["desired", "idle", "running", "starting", "stopping", "failed"].map(value));
    expect(await all()).toEqual(["3", "2", "1", "0", "0", "0"]);
    await scene.client.delete(SandboxPools, scene.key("py"));
    await world.quiet();
    await clock.step(1_000);
    expect(await all()).toEqual(Array.from({ length: 6 }, () => "none"));
    await expect(scene.client.get(Pods, scene.key(name(pod)))).rejects.toMatchObject({ reason: "NotFound" });
  });
});
