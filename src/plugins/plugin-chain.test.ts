import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { prometheusMetrics } from "#lib/metrics.ts";
import { labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { recordedLog } from "../../test/world/recorded-log.ts";
import { SteppedClock } from "../../test/world/stepped-clock.ts";
import type { Plugin, PluginChain, Refusal, Verdict } from "./plugin.ts";
import { openPluginChain, startPlugins } from "./plugin-chain.ts";

const { signal } = new AbortController();

function scene(plugins: readonly Plugin[], deadlineMs = 1000) {
  const [clock, registry, { log, lines }] = [new SteppedClock(), new Registry(), recordedLog()];
  const chain: PluginChain = openPluginChain(plugins, { clock, log, metrics: prometheusMetrics(registry), deadlineMs });
  return { chain, clock, registry, lines };
}

const pool: SandboxPool = {
  metadata: { namespace: "default", name: "py", uid: "u1", labels: { [labelKeys.team]: "red" }, ownerReferences: [] },
  spec: { replicas: 3, templateName: "base" },
};
const pod: Pod = { metadata: { namespace: "default", name: "py-x", labels: {} }, spec: { containers: [{ name: "main", image: "app" }] } };

function preCreating(name: string, make: (pool: SandboxPool) => unknown): Plugin {
  return { name, preCreatePool: async (copy) => make(copy) as Verdict<SandboxPool> };
}

const refusing = (name: string, refusal: Refusal): Plugin => ({ name, preUpdatePool: async () => ({ refusal }) });

test("each plugin sees what the one before it made, and what is stored is changed by none of them", async () => {
  const seen: unknown[] = [];
  const add = (key: string) =>
    preCreating(key, (copy) => {
      seen.push(copy.metadata.annotations);
      // On the copy itself, as careless plugins do it.
      (copy.metadata as { annotations?: Record<string, string> }).annotations = { ...copy.metadata.annotations, [key]: "yes" };
      return { object: copy };
    });
  const before = structuredClone(pool);
  const { chain } = scene([add("one"), add("two")]);
  expect(await chain.preCreatePool(pool, signal)).toMatchObject({ object: { metadata: { annotations: { one: "yes", two: "yes" } } } });
  expect(seen).toEqual([undefined, { one: "yes" }]);
  expect(pool).toEqual(before);
});

test("an object that no plugin changes comes back as it is", async () => {
  const { chain } = scene([preCreating("same", (copy) => ({ object: copy })), { name: "hookless" }]);
  expect(await chain.preCreatePool(pool, signal)).toEqual({ object: pool });
  const verdict = await chain.preCreatePool(pool, signal);
  expect("object" in verdict && verdict.object === pool).toBe(true);
  expect(await chain.preCreatePod(pod, pool, signal)).toEqual({ object: pod });
});

test.each<[string, (copy: SandboxPool) => unknown, RegExp]>([
  [
    "throws",
    () => {
      throw new Error("boom");
    },
    /preCreatePool failed; the server's log says why/,
  ],
  ["answers nothing", () => undefined, /answered nothing/],
  ["answers a text", () => "yes", /answered a string/],
  ["answers neither", () => ({}), /neither \{ object \} nor/],
  ["answers no object", () => ({ object: 7 }), /not an object with metadata and spec/],
  ["answers code", (copy) => ({ object: { ...copy, run: () => {} } }), /failed/],
  ["answers bad replicas", (copy) => ({ object: { ...copy, spec: { replicas: -1 } } }), /spec.replicas/],
  ["refuses without a kind", () => ({ refusal: { message: "no" } }), /with the kind/],
  ["refuses with a text", () => ({ refusal: "no" }), /not an object/],
  ["renames", (copy) => ({ object: { ...copy, metadata: { ...copy.metadata, name: "x" } } }), /changed metadata.name/],
  ["moves", (copy) => ({ object: { ...copy, metadata: { ...copy.metadata, namespace: "x" } } }), /metadata.namespace/],
  ["takes another uid", (copy) => ({ object: { ...copy, metadata: { ...copy.metadata, uid: "x" } } }), /metadata.uid/],
  ["takes owners away", (copy) => ({ object: { ...copy, metadata: { ...copy.metadata, ownerReferences: undefined } } }), /ownerReferences/],
  [
    "changes whose it is",
    (copy) => ({ object: { ...copy, metadata: { ...copy.metadata, labels: { [labelKeys.team]: "blue" } } } }),
    /labels\["scheduling/,
  ],
  ["writes numbers as labels", (copy) => ({ object: { ...copy, metadata: { ...copy.metadata, labels: { a: 1 } } } }), /not texts/],
  ["changes status", (copy) => ({ object: { ...copy, status: { phase: "Ready" } } }), /changed status/],
])("a plugin that %s has refused, with its name", async (_, make, message) => {
  const { chain } = scene([
    preCreating("bad", make),
    preCreating("never", () => {
      throw new Error("not asked");
    }),
  ]);
  const verdict = await chain.preCreatePool(pool, signal);
  expect(verdict).toEqual({ refusal: { kind: "Internal", plugin: "bad", message: expect.stringMatching(message) as string } });
});

test("a plugin that hangs has refused when its time is over, and is told so", async () => {
  let told: unknown;
  const { chain, clock } = scene([
    { name: "slow", preCreatePool: (_, inner) => new Promise(() => inner.addEventListener("abort", () => (told = inner.reason))) },
  ]);
  const verdict = chain.preCreatePool(pool, signal);
  await clock.step(999);
  expect(told).toBeUndefined();
  await clock.step(1);
  expect(await verdict).toEqual({
    refusal: { kind: "Internal", plugin: "slow", message: "preCreatePool gave no answer within 1s" },
  });
  expect(told).toBeInstanceOf(Error);
  expect(clock.pending).toBe(0);
});

test("what a plugin throws is in the log, and not in its refusal, which tenants read", async () => {
  const { chain, lines } = scene([
    preCreating("bad", () => {
      throw new Error("connect ECONNREFUSED 10.0.0.3:5432");
    }),
  ]);
  expect(JSON.stringify(await chain.preCreatePool(pool, signal))).not.toContain("10.0.0.3");
  expect(lines).toEqual([expect.objectContaining({ msg: "plugin failed", why: "connect ECONNREFUSED 10.0.0.3:5432" })]);
});

test("a plugin that fails after its time was over disturbs nothing", async () => {
  const late = Promise.withResolvers<Verdict<SandboxPool>>();
  const { chain, clock } = scene([{ name: "slow", preCreatePool: () => late.promise }]);
  const verdict = chain.preCreatePool(pool, signal);
  await clock.step(1000);
  expect(await verdict).toMatchObject({ refusal: { plugin: "slow" } });
  late.reject(new Error("too late"));
  await clock.step(1);
});

test("a caller that gives up is not told of a refusal", async () => {
  const abort = new AbortController();
  const { chain } = scene([{ name: "slow", preCreatePool: () => new Promise(() => {}) }]);
  const verdict = chain.preCreatePool(pool, abort.signal);
  abort.abort(new Error("given up"));
  await expect(verdict).rejects.toThrow("given up");
});

test("before a deletion only a refusal counts", async () => {
  const { chain } = scene([{ name: "any", preDeletePool: async () => ({}) as Verdict<SandboxPool> }]);
  expect(await chain.preDeletePool(pool, signal)).toEqual({ object: pool });
  const { chain: other } = scene([{ name: "keep", preDeletePool: async () => ({ refusal: { kind: "InvalidSpec", message: "in use" } }) }]);
  expect(await other.preDeletePool(pool, signal)).toEqual({ refusal: { kind: "InvalidSpec", message: "in use", plugin: "keep" } });
});

test("a pod comes with its pool, and keeps its containers", async () => {
  const sidecar = { name: "side", image: "side" };
  const { chain } = scene([
    {
      name: "side",
      preCreatePod: async (copy, of) => ({
        object: { ...copy, spec: { ...copy.spec, containers: [...copy.spec.containers, { ...sidecar, image: of.metadata.name ?? "" }] } },
      }),
    },
  ]);
  expect(await chain.preCreatePod(pod, pool, signal)).toMatchObject({
    object: { spec: { containers: [{ name: "main" }, { name: "side", image: "py" }] } },
  });
  const { chain: empty } = scene([{ name: "empty", preCreatePod: async (copy) => ({ object: { ...copy, spec: { containers: [] } } }) }]);
  expect(await empty.preCreatePod(pod, pool, signal)).toMatchObject({ refusal: { kind: "Internal", plugin: "empty" } });
});

test("a plugin that says to wait for weeks is asked again after an hour", async () => {
  const { chain } = scene([refusing("slow", { kind: "InsufficientResources", message: "full", retryAfterMs: 30 * 24 * 3_600_000 })]);
  expect(await chain.preUpdatePool(pool, signal)).toMatchObject({ refusal: { plugin: "slow", retryAfterMs: 3_600_000 } });
});

test("a plugin that says to come back at once is asked again after a second", async () => {
  const { chain } = scene([refusing("hasty", { kind: "InsufficientResources", message: "full", retryAfterMs: 0 })]);
  expect(await chain.preUpdatePool(pool, signal)).toMatchObject({ refusal: { plugin: "hasty", retryAfterMs: 1000 } });
});

test("a refusal of growth has the smallest number that fits and the longest wait of all plugins", async () => {
  const { chain } = scene([
    refusing("a", { kind: "InsufficientResources", message: "a is full", wouldFit: 9, retryAfterMs: 1000 }),
    refusing("b", { kind: "InsufficientResources", message: "b is full", wouldFit: 4 }),
    refusing("c", { kind: "InsufficientResources", message: "c is full", retryAfterMs: 5000 }),
  ]);
  expect(await chain.preUpdatePool(pool, signal)).toEqual({
    refusal: { kind: "InsufficientResources", plugin: "b", message: "b is full", wouldFit: 4, retryAfterMs: 5000 },
  });
});

test("replicas that a plugin lowers are a partial grant, and replicas that it raises are nonsense", async () => {
  const set = (replicas: number): Plugin => ({
    name: "set",
    preUpdatePool: async (copy) => ({ object: { ...copy, spec: { ...copy.spec, replicas } } }),
  });
  expect(await scene([set(2)]).chain.preUpdatePool(pool, signal)).toMatchObject({
    refusal: { kind: "InsufficientResources", wouldFit: 2 },
  });
  expect(await scene([set(4)]).chain.preUpdatePool(pool, signal)).toMatchObject({ refusal: { kind: "Internal", plugin: "set" } });
});

test("plugins may be classes", async () => {
  class Counting implements Plugin {
    readonly name = "counting";
    #asked = 0;
    async preCreatePool(copy: SandboxPool): Promise<Verdict<SandboxPool>> {
      this.#asked += 1;
      return { object: { ...copy, metadata: { ...copy.metadata, annotations: { asked: String(this.#asked) } } } };
    }
  }
  expect(await scene([new Counting()]).chain.preCreatePool(pool, signal)).toMatchObject({
    object: { metadata: { annotations: { asked: "1" } } },
  });
});

test("calls are counted by plugin, hook and what came of them", async () => {
  const { chain, registry } = scene([preCreating("bad", () => undefined)]);
  await chain.preCreatePool(pool, signal);
  expect(await registry.metrics()).toContain('agentbox_plugin_calls_total{plugin="bad",hook="preCreatePool",outcome="Internal"} 1');
});

test("a plugin that cannot start keeps the server from starting, with its name", async () => {
  const clock = new SteppedClock();
  const started: string[] = [];
  const good: Plugin = { name: "good", start: async () => void started.push("good") };
  await startPlugins([good, { name: "hookless" }], { clock }, signal);
  await expect(
    startPlugins([good, { name: "bad", start: () => Promise.reject(new Error("no network")) }], { clock }, signal),
  ).rejects.toThrow("plugin bad cannot start: no network");
  const hanging = startPlugins([{ name: "slow", start: () => new Promise(() => {}) }], { clock, deadlineMs: 100 }, signal);
  const failed = hanging.catch((error: unknown) => error);
  await clock.step(100);
  expect(await failed).toMatchObject({ message: "plugin slow cannot start: it did not start within 100 ms" });
  expect(started).toEqual(["good", "good"]);
});
