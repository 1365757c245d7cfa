import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { podCondition, poolOf } from "#model/claimed-pod.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { clusterCapacity } from "#plugins/capacity.ts";
import type { PluginChain } from "#plugins/plugin.ts";
import { openPluginChain } from "#plugins/plugin-chain.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { type ScalingScene, scalingScene } from "../../../test/world/scaling-scene.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";

const second = 1_000;
const demand = { scaleUpPolicy: { mode: "Demand" as const } };
const roomFor = (most: number): Pick<PluginChain, "probe"> => ({
  probe: (pool, wanted) => {
    const admitted = Math.max(pool.spec.replicas, Math.min(wanted, most));
    const refusal = { plugin: "capacity", kind: "InsufficientResources" as const, message: `room for ${most}` };
    return Promise.resolve(admitted >= wanted ? { admitted } : { admitted, refusal });
  },
});

describe("requests that wait", () => {
  test("W15: thirty waiting requests on a stock of one have a pod each at once, without a step of time", async () => {
    await using scaling = await scalingScene();
    const { world, pressure } = scaling;
    await scaling.createEnv([{ name: "py", replicas: 1 }], demand);
    pressure.waits(30, "py");
    await world.filled();
    expect(await world.scene.pods()).toHaveLength(30);
  });

  test("pods for waiting requests do not wait for cool-downs", async () => {
    await using scaling = await scalingScene();
    const { world, pressure } = scaling;
    await scaling.createEnv([{ name: "py", replicas: 1 }], { scaleUpPolicy: { mode: "Conservative", cooldownSeconds: 600 } });
    pressure.waits(5, "py");
    await world.filled();
    await world.clock.step(second);
    pressure.waits(9, "py");
    await world.filled();
    expect(await world.scene.pods()).toHaveLength(9);
    expect(await scaling.replicas()).toEqual({ py: 1 });
  });

  test("they get no more pods than member and group may have", async () => {
    await using scaling = await scalingScene();
    const { world, pressure } = scaling;
    const members = [
      { name: "a", replicas: 0, config: { maxReplicas: 3 } },
      { name: "b", replicas: 0, config: { priority: 1 } },
    ];
    await scaling.createEnv(members, { ...demand, maxReplicas: 8 });
    pressure.waits(20, "a", "b");
    await world.filled();
    await world.clock.step(5 * second);
    await world.filled();
    const pods = (await world.scene.pods()).map(({ metadata }) => metadata.name?.slice(0, 1));
    expect([pods.filter((name) => name === "a").length, pods.filter((name) => name === "b").length]).toEqual([3, 5]);
    expect(await scaling.replicas()).toEqual({ a: 3, b: 5 });
  });

  test("a group that is off keeps its number, and nothing is written", async () => {
    await using scaling = await scalingScene();
    const { world, pressure } = scaling;
    await scaling.createEnv([{ name: "py", replicas: 2 }], { enabled: false });
    const before = await scaling.env();
    pressure.waits(9, "py");
    await world.filled();
    await world.clock.step(60 * second);
    expect(await world.scene.pods()).toHaveLength(2);
    expect((await scaling.env()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    expect((await world.scene.pool()).status?.autoscaling).toBeUndefined();
  });

  test("what plugins refuse goes to a sibling, and the full member says so", async () => {
    const plugins: Pick<PluginChain, "probe"> = {
      probe: (pool, wanted, signal) => roomFor(pool.metadata.name === "a" ? 1 : 100).probe(pool, wanted, signal),
    };
    await using scaling = await scalingScene({ plugins });
    const { world, pressure } = scaling;
    await scaling.createEnv(
      [
        { name: "a", replicas: 0 },
        { name: "b", replicas: 0, config: { priority: 9 } },
      ],
      demand,
    );
    pressure.waits(6, "a", "b");
    await world.filled();
    await world.clock.step(2 * second);
    await world.filled();
    const ofB = (await world.scene.pods()).filter(({ metadata }) => metadata.name?.startsWith("b-") === true);
    expect(ofB.length).toBeGreaterThanOrEqual(5);
    const { autoscaling } = (await world.scene.pool("a")).status ?? {};
    expect(autoscaling).toMatchObject({ scaleUpErrorMessage: "capacity: room for 1", saturatedUntil: expect.any(String) });
    expect(["JustRight", "Insufficient"]).toContain(autoscaling?.lastScaleUpAttemptResult);
    expect((await world.scene.told()).join("\n")).toMatch(/AutoscalerScaleUp(?:Partial|Rejected)/);
  });
});

describe("a member whose pods no node takes", () => {
  const members = [
    { name: "a", replicas: 0 },
    { name: "b", replicas: 0, config: { priority: 1 } },
  ];

  /** The real plugin, and a node that takes only pods of b. */
  async function halfScene(group: object) {
    const worlds: ScalingScene[] = [];
    const cache = (): SandboxCache => (worlds[0] as ScalingScene).world.scene.cache;
    const clock = { now: () => worlds[0]?.world.clock.now() ?? 0 };
    const capacity = clusterCapacity({
      clock,
      settings: { unschedulableAfterMs: 30 * second },
      replicasNow: ({ metadata: { namespace, name = "" } }) => cache().pools.get({ namespace, name })?.spec.replicas ?? 0,
      unschedulable: ({ metadata: { namespace = "", name = "" } }) => cache().unschedulablePods({ namespace, pool: name }),
    });
    const metrics = prometheusMetrics(new Registry());
    const scaling = await scalingScene({
      plugins: openPluginChain([capacity], { clock: new SteppedClock(), log: recordedLog().log, metrics }),
    });
    worlds.push(scaling);
    await scaling.createEnv(members, { ...demand, ...group });
    const { world } = scaling;
    const podsOf = async (pool: string) => (await world.scene.pods()).filter((pod) => poolOf(pod) === pool);
    const untaken = async (): Promise<void> => {
      for (const pod of await podsOf("a")) {
        if (podCondition(pod, "PodScheduled") !== undefined) continue;
        const { namespace, name = "" } = pod.metadata;
        const lastTransitionTime = new Date(world.clock.now()).toISOString();
        const condition = {
          type: "PodScheduled",
          status: "False" as const,
          reason: "Unschedulable",
          message: "0/9 nodes",
          lastTransitionTime,
        };
        const body = { status: { conditions: [condition] } };
        await world.scene.client.patch(Pods, { namespace, name }, { type: "merge", body }, { subresource: "status" });
      }
      for (const pod of await podsOf("b")) if (podCondition(pod, "Ready")?.status !== "True") await world.scene.nodeReports(pod);
      await world.quiet();
    };
    const seconds = async (count: number): Promise<void> => {
      for (let passed = 0; passed < count; passed++) {
        await world.clock.step(second);
        await world.quiet();
        await untaken();
      }
    };
    await seconds(1);
    return { scaling, world, podsOf, seconds, [Symbol.asyncDispose]: () => scaling[Symbol.asyncDispose]() };
  }

  test.each([{}, { maxReplicas: 2 }])(
    "is full after a while and says why, its sibling has what waits, and it comes back: %j",
    async (group) => {
      await using half = await halfScene(group);
      const { scaling, world, podsOf, seconds } = half;
      scaling.pressure.waits(1, "a", "b");
      await seconds(25);
      expect([(await podsOf("a")).length > 0, await podsOf("b")]).toEqual([true, []]);
      await seconds(10);
      expect((await podsOf("b")).length).toBeGreaterThan(0);
      scaling.pressure.waits(0);
      await seconds(5);
      const { autoscaling } = (await world.scene.pool("a")).status ?? {};
      expect(autoscaling).toMatchObject({
        scaleUpErrorMessage: expect.stringMatching(/^capacity: pod a-\w+ has had no node for \d+ s: 0\/9 nodes/),
        saturatedUntil: expect.any(String),
      });
      expect([await podsOf("a"), (await scaling.replicas())["a"]]).toEqual([[], 0]);
      expect((await world.scene.told()).join("\n")).toContain("no node takes");
      // Its node is back, which nothing tells but that pods are taken again.
      await world.clock.step(90 * second);
      await world.filled();
      expect((await world.scene.pool("a")).status?.autoscaling?.saturatedUntil).toBeUndefined();
    },
  );

  test("is told also where nothing waits", async () => {
    await using half = await halfScene({ minReplicas: 2 });
    await half.seconds(45);
    expect((await half.world.scene.pool("a")).status?.autoscaling?.scaleUpErrorMessage).toContain("0/9 nodes");
    expect((await half.podsOf("b")).length).toBeGreaterThanOrEqual(2);
  });
});

describe("the stock", () => {
  test("follows use: what runs is in the number, and spare pods are beside it", async () => {
    await using scaling = await scalingScene();
    const { world } = scaling;
    await scaling.createEnv([{ name: "py", replicas: 2 }], demand);
    for (const [index, pod] of (await world.scene.pods()).entries()) await world.scene.claim(pod, `i${index}`);
    await world.clock.step(second);
    await world.filled();
    expect((await scaling.replicas())["py"]).toBeGreaterThan(2);
    expect((await world.scene.pool()).status?.autoscaling).toMatchObject({
      decision: expect.stringContaining("2 in use, 0 waiting"),
      lastScaleUpAttemptResult: "Enough",
      lastScaleUpTime: expect.any(String),
    });
    expect((await world.scene.told()).join("\n")).toContain("AutoscalerScaleUp (1): from 2 to ");
  });

  test.each([
    ["come back at once", true, [1, 15]],
    ["stay in use", false, [30, 60]],
  ] as const)("of pods that %s, the spare is for as many as are out together", async (_, comesBack, [least, most]) => {
    await using scaling = await scalingScene();
    const { world } = scaling;
    await scaling.createEnv([{ name: "py", replicas: 40 }], demand);
    for (let round = 0; round < 4; round++) {
      const isIdle = (pod: Pod) =>
        pod.metadata.labels?.[labelKeys.sandboxPhase] === "idle" && podCondition(pod, "Ready")?.status === "True";
      const idle = (await world.scene.pods()).filter(isIdle).slice(0, 10);
      const claimed = await Promise.all(idle.map((pod, index) => world.scene.claim(pod, `i${round}-${index}`)));
      await world.quiet();
      const labels = { [labelKeys.sandboxPhase]: "idle", [labelKeys.sandboxId]: null };
      if (comesBack) for (const pod of claimed) await world.scene.changePod(pod, { labels });
      await world.quiet();
    }
    await world.clock.step(second);
    const spare = Number(/agentbox_autoscaler_spare\{.*\} (\d+)/.exec(await scaling.metric("agentbox_autoscaler_spare"))?.[1]);
    expect(spare).toBeGreaterThanOrEqual(least);
    expect(spare).toBeLessThanOrEqual(most);
  });

  test("shrinks to its minimum after silence, and tells when it has begun and when it is done", async () => {
    await using scaling = await scalingScene();
    const { world } = scaling;
    await scaling.createEnv([{ name: "py", replicas: 6, config: { minReplicas: 1 } }], demand);
    for (let minutes = 0; minutes < 15; minutes++) {
      await world.clock.step(60 * second);
      await world.filled();
    }
    expect(await scaling.replicas()).toEqual({ py: 1 });
    expect(await world.scene.pods()).toHaveLength(1);
    const told = (await world.scene.told()).join("\n");
    expect(told).toContain("AutoscalerScaleDownStarted");
    expect(told).toContain("AutoscalerScaleDownCompleted");
  });

  test("after a restart of the process nothing shrinks before a whole window was seen", async () => {
    await using scaling = await scalingScene();
    const { world } = scaling;
    await scaling.createEnv([{ name: "py", replicas: 6 }], demand);
    await world.clock.step(290 * second);
    await world.filled();
    expect(await scaling.replicas()).toEqual({ py: 6 });
  });

  test("the time of the latest create stands on the pool, written every few seconds at most", async () => {
    await using scaling = await scalingScene();
    const { world } = scaling;
    await scaling.createEnv([{ name: "py", replicas: 3 }], demand);
    const [one, two] = await world.scene.pods();
    await world.scene.claim(one as Pod, "i1");
    await world.clock.step(second);
    await world.filled();
    const first = (await world.scene.pool()).metadata.annotations?.[annotationKeys.lastSandboxCreateTime];
    expect(first).toBeDefined();
    await world.scene.claim(two as Pod, "i2");
    await world.clock.step(second);
    expect((await world.scene.pool()).metadata.annotations?.[annotationKeys.lastSandboxCreateTime]).toBe(first);
  });

  test("a pool says since when it has no idle pod, when it last grew, and of which generation that was written", async () => {
    await using scaling = await scalingScene();
    const { world } = scaling;
    await scaling.createEnv([{ name: "py", replicas: 1 }], {
      scaleUpPolicy: { mode: "Default", idleThresholdSeconds: 5 },
    });
    const [pod] = await world.scene.pods();
    await world.scene.claim(pod as Pod, "i1");
    await world.clock.step(second);
    const starved = (await world.scene.pool()).status?.autoscaling;
    expect(starved).toMatchObject({ idleZeroSince: expect.any(String), observedGeneration: 1 });
    expect(starved?.lastScaleUpTime).toBeUndefined();
    await world.clock.step(20 * second);
    await world.filled();
    const { metadata, status } = await world.scene.pool();
    expect(metadata.generation).toBe(2);
    expect(status?.autoscaling).toMatchObject({ lastScaleUpTime: expect.any(String), observedGeneration: 2 });
    expect(status?.autoscaling?.idleZeroSince).toBeUndefined();
  });

  test.each([
    ["grows, where the pool says that a request came lately", 0, 1],
    ["does not grow, where the pool says that the latest request came long ago", 3600, 0],
  ])("after a restart a group without an idle pod %s", async (_, seconds, replicas) => {
    await using scaling = await scalingScene();
    const { world } = scaling;
    await scaling.createEnv([{ name: "py", replicas: 0 }], { scaleUpPolicy: { mode: "Default", idleThresholdSeconds: 5 } });
    const time = new Date(world.clock.now() - seconds * second).toISOString();
    const body = { metadata: { annotations: { [annotationKeys.lastSandboxCreateTime]: time } } };
    await world.scene.client.patch(SandboxPools, world.scene.key("py"), { type: "merge", body });
    await world.clock.step(20 * second);
    expect(await scaling.replicas()).toEqual({ py: replicas });
  });

  test("W3: a change of the Env by a person between the decision and its write is not lost", async () => {
    await using scaling = await scalingScene();
    const { world, pressure } = scaling;
    await scaling.createEnv([{ name: "py", replicas: 1 }], demand);
    const patching = world.scene.client.patch(SandboxEnvs, world.scene.key("web"), {
      type: "merge",
      body: { spec: { overrides: { image: "registry.invalid/other:1" } } },
    });
    pressure.waits(4, "py");
    await patching;
    await world.filled();
    await world.clock.step(2 * second);
    await world.filled();
    const env = await scaling.env();
    expect(env.spec.overrides?.image).toBe("registry.invalid/other:1");
    expect((await scaling.replicas())["py"]).toBeGreaterThanOrEqual(4);
  });

  test("groups are numbers for Prometheus, and gone with their Env", async () => {
    await using scaling = await scalingScene();
    const { world } = scaling;
    await scaling.createEnv([{ name: "py", replicas: 2 }], demand);
    await world.clock.step(second);
    const gauge = 'agentbox_autoscaler_ready{namespace="ns",sandbox_env="web",group="default"}';
    expect(await scaling.metric("agentbox_autoscaler_ready")).toContain(`${gauge} 2`);
    expect(await scaling.metric("agentbox_autoscaler_decisions_total")).toMatch(/reason="/);
    await world.scene.client.delete(SandboxEnvs, world.scene.key("web"));
    await world.clock.step(20 * second);
    expect(await scaling.metric("agentbox_autoscaler_ready")).not.toContain("sandbox_env");
  });
});

test("W16: a pod that is chosen for scale-down can be claimed for as long as the group's policy says", async () => {
  await using scaling = await scalingScene();
  const { world } = scaling;
  await scaling.createEnv([{ name: "py", replicas: 3 }], {
    ...demand,
    scaleDownPolicy: { idleTimeoutSeconds: 20, stabilizationSeconds: 0, protectionWindowSeconds: 90 },
    demand: { emptyAfterSeconds: 10 },
  });
  await world.clock.step(60 * second);
  expect(await scaling.replicas()).toEqual({ py: 0 });
  const marked = (await world.scene.pods()).filter(({ metadata }) => metadata.annotations?.[annotationKeys.chosenToGo] !== undefined);
  expect(marked).toHaveLength(3);
  await world.scene.claim(marked[0] as Pod, "i1");
  await world.clock.step(100 * second);
  const left = await world.scene.pods();
  expect(left.map(({ metadata }) => metadata.name)).toContain(marked[0]?.metadata.name);
});
