import { Registry } from "prom-client";
import { expect, onTestFinished, test } from "vitest";
import { admin, ann, eve, failureOf, nobody, ServiceScene, wordsOf } from "../../../test/world/service-scene.ts";
import { settle } from "../../../test/world/stepped-clock.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { annotationKeys, podConditions } from "#model/keys.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import type { PodUse } from "./pod-use.ts";
import { sandboxUsage } from "./sandbox-usage.ts";
import { UsageSampler } from "./usage-sampler.ts";

const machine = { cpus: 2, memoryBytes: 8 * 2 ** 30, diskBytes: 100 * 2 ** 30 };
const frozen = { conditions: [{ type: podConditions.paused, status: "True" }] } as const;

class UsageScene {
  readonly scene: ServiceScene;
  readonly sampler: UsageSampler;
  readonly asked: string[] = [];
  use: PodUse = { cpuMs: 0, memoryBytes: 2 ** 20, cacheBytes: 0, diskBytes: 0, machine };
  before: () => Promise<unknown> = async () => {};
  readonly killed: number[] = [];

  private constructor(scene: ServiceScene, sampled: "all" | "asked") {
    this.scene = scene;
    this.sampler = new UsageSampler({
      live: scene.live,
      cache: scene.cache,
      clock: scene.clock,
      sampled,
      metrics: prometheusMetrics(new Registry()),
      onOomKills: (_, kills) => this.killed.push(kills),
      read: async (pod) => {
        this.asked.push(sandboxIdOf(pod) ?? "");
        await this.before();
        return this.use;
      },
    });
  }

  static async open(sampled: "all" | "asked"): Promise<UsageScene> {
    const scene = await ServiceScene.open();
    const usage = new UsageScene(scene, sampled);
    onTestFinished(async () => {
      usage.sampler[Symbol.dispose]();
      await scene[Symbol.asyncDispose]();
    });
    return usage;
  }

  get service() {
    return sandboxUsage({ cache: this.scene.cache, sampler: this.sampler });
  }

  async pass(ms: number): Promise<void> {
    await this.scene.clock.step(ms);
    await settle();
  }

  async percents(id: string): Promise<readonly number[]> {
    return (await this.service.of(admin, id, {})).samples.map(({ cpuPercent }) => cpuPercent);
  }
}

test("what runs is looked at every five seconds, and processor time becomes a share of what it may use", async () => {
  const usage = await UsageScene.open("all");
  await usage.scene.sandbox("i1");
  await usage.pass(5000);
  usage.use = { ...usage.use, cpuMs: 2500 };
  await usage.pass(5000);
  usage.use = { ...usage.use, cpuMs: 2500 + 10_000 };
  await usage.pass(5000);
  expect(await usage.percents("i1")).toEqual([0, 25, 100]);
});

test("a sandbox is not looked at while it starts, stops, is paused or is to be paused", async () => {
  const usage = await UsageScene.open("all");
  await usage.scene.sandbox("starting", { phase: "starting" });
  await usage.scene.sandbox("stopping", { phase: "stopping" });
  await usage.scene.sandbox("paused", { status: frozen });
  await usage.scene.sandbox("soon", { annotations: { [annotationKeys.paused]: usage.scene.now } });
  await usage.scene.sandbox("runs");
  await usage.pass(5000);
  expect(usage.asked).toEqual(["runs"]);
});

test("who asks first has an answer at once, and a paused sandbox shows what was before", async () => {
  const usage = await UsageScene.open("all");
  await usage.scene.sandbox("i1");
  expect(await usage.percents("i1")).toEqual([0]);
  await usage.scene.report("i1", frozen);
  await usage.pass(60_000);
  expect(await usage.percents("i1")).toEqual([0]);
  expect(usage.asked).toEqual(["i1"]);
});

test("one of several processes looks only at what was asked for lately", async () => {
  const usage = await UsageScene.open("asked");
  await usage.scene.sandbox("i1");
  await usage.scene.sandbox("i2");
  await usage.pass(10_000);
  expect(usage.asked).toEqual([]);
  await usage.service.latest(admin, ["i2"]);
  await usage.pass(10_000);
  expect(usage.asked).toEqual(["i2", "i2", "i2"]);
  for (let minute = 0; minute < 11; minute++) await usage.pass(60_000);
  usage.asked.length = 0;
  await usage.pass(60_000);
  expect(usage.asked).toEqual([]);
});

test("I8: another's sandbox has no metrics, alone or among others, in the same words as one that never was", async () => {
  const usage = await UsageScene.open("all");
  await usage.scene.sandbox("i1");
  const [foreign, missing] = [failureOf(usage.service.of(eve, "i1", {})), failureOf(usage.service.of(eve, "i9", {}))];
  expect(wordsOf(await foreign, "i1")).toBe(wordsOf(await missing, "i9"));
  expect([...(await usage.service.latest(eve, ["i1"])).keys()]).toEqual([]);
  expect([...(await usage.service.latest(nobody, ["i1"])).keys()]).toEqual([]);
  expect([...(await usage.service.latest(ann, ["i1", "i9"])).keys()]).toEqual(["i1"]);
});

test("what is read of a pod that carries another sandbox by then is kept for nobody", async () => {
  const usage = await UsageScene.open("all");
  await usage.scene.sandbox("i1");
  usage.before = async () => usage.scene.end("i1");
  await usage.pass(5000);
  expect(usage.asked).toEqual(["i1"]);
  expect([...usage.sampler.log.ids()]).toEqual([]);
});

test("an ended sandbox is forgotten, and a look that fails is only a gap", async () => {
  const usage = await UsageScene.open("all");
  await usage.scene.sandbox("i1");
  await usage.pass(5000);
  usage.before = () => Promise.reject(new Error("gone"));
  await usage.pass(5000);
  usage.before = async () => {};
  await usage.pass(5000);
  expect(await usage.percents("i1")).toHaveLength(2);
  await usage.scene.end("i1");
  await usage.pass(5000);
  expect([...usage.sampler.log.ids()]).toEqual([]);
  expect((await failureOf(usage.service.of(ann, "i1", {}))).code).toBe("not_found");
});

test("more sandboxes than can be asked about at once are refused with the limit", async () => {
  const usage = await UsageScene.open("all");
  const failure = await failureOf(
    usage.service.latest(
      ann,
      Array.from({ length: 101 }, (_, at) => `i${at}`),
    ),
  );
  expect([failure.code, failure.message]).toEqual(["invalid_request", expect.stringContaining("at most 100")]);
});

test("processes that were killed for want of memory are told once each time that there are more of them", async () => {
  const usage = await UsageScene.open("all");
  await usage.scene.sandbox("i-1");
  await usage.pass(5_000);
  expect(usage.killed).toEqual([]);
  for (const oomKills of [2, 2, 3]) {
    usage.use = { ...usage.use, oomKills };
    await usage.pass(5_000);
  }
  expect(usage.killed).toEqual([2, 3]);
});
