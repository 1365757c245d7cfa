import { embeddedAbilities } from "#engines/embedded/abilities.ts";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { Expectations } from "#kube/controller/expectations.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { annotationKeys, finalizers } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { planClaim } from "#life/claim/plan-claim.ts";
import { CountedObjects } from "../../../test/world/counted-objects.ts";
import { aPoolPod, digestOf, patched, pinned } from "../../../test/world/pool-pods.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { blueprintOf } from "./pool-blueprint.ts";
import { poolTools, reconcilePool } from "./reconcile-pool.ts";
import { claimBook } from "../../../test/world/claim-books.ts";

const { signal } = new AbortController();
const key = { namespace: "ns", name: "py" };

/** A pool's pods are in the cache; the server behind it takes the pool's status and nothing else. */
class Bench {
  readonly clock = new SteppedClock();
  readonly calls: string[] = [];
  readonly cache: SandboxCache;
  readonly pods: CountedObjects<Pod>;
  readonly tools: ReturnType<typeof poolTools>;
  #version = 1_000_000;

  constructor(size: number) {
    const { log } = recordedLog();
    const metrics = prometheusMetrics(new Registry());
    this.cache = new SandboxCache({ client: this.#client(), clock: this.clock, log }, { claims: claimBook() });
    this.pods = new CountedObjects(this.cache.pods);
    this.tools = poolTools({
      abilities: embeddedAbilities,
      client: this.#client(),
      cache: Object.create(this.cache, { pods: { value: this.pods.informer } }) as SandboxCache,
      clock: this.clock,
      log,
      metrics,
      random: () => 0.5,
      publicKey: "a2V5",
      creationsAtOnce: 4,
      expectations: new Expectations(this.clock),
      digests: { resolve: async (image) => ({ digest: digestOf(image) }) },
    });
    this.tools.ledger.follow(this.cache.pods);
    this.tools.sums.follow(this.cache);
    this.#fill(size);
  }

  #fill(size: number): void {
    const image = "registry.invalid/idle:1";
    const pool: SandboxPool = {
      metadata: { ...key, uid: "pool", resourceVersion: "1", generation: 1, finalizers: [finalizers.pool] },
      spec: { replicas: size, template: { spec: { containers: [{ name: "main", image }] } } },
      status: { resolvedImages: [{ image, digest: digestOf("idle") }] },
    };
    this.cache.pools.remember(pool);
    const blueprint = blueprintOf(this.tools, pool);
    if (blueprint.kind !== "blueprint") throw new Error(blueprint.trouble.message);
    for (let index = 0; index < size; index++) {
      const metadata = { name: `py-${index}`, uid: `uid-${index}`, finalizers: [finalizers.sandboxProtection] };
      const annotations = { [annotationKeys.templateHash]: blueprint.hash, [annotationKeys.useCount]: "0" };
      this.cache.pods.remember(aPoolPod({ metadata: { ...metadata, annotations, resourceVersion: String(index + 2) } }));
    }
  }

  /** What a look at the pool reads and writes. */
  async look(): Promise<{ reads: number; calls: readonly string[] }> {
    this.pods.reads = 0;
    await reconcilePool(this.tools, key, signal);
    return { reads: this.pods.reads, calls: this.calls.splice(0) };
  }

  claim(name: string): void {
    const pod = this.cache.pods.get({ namespace: "ns", name });
    if (pod === undefined) throw new Error(`there is no ${name}`);
    const images = { main: { image: pinned("idle"), digest: digestOf("idle") } };
    const plan = planClaim(pod, { sandboxId: "i1", images }, this.clock.now());
    if (plan.kind !== "patch") throw new Error(plan.message);
    const claimed = patched(pod, plan.patch);
    this.cache.pods.remember({ ...claimed, metadata: { ...claimed.metadata, resourceVersion: String(this.#version++) } });
  }

  #client(): ObjectClient {
    const refuse = (_: object, verb: string | symbol) => async (): Promise<never> => {
      this.calls.push(String(verb));
      throw new Error("not here");
    };
    const patch: ObjectClient["patch"] = async (type, subject, change, options) => {
      this.calls.push(`patch ${type.plural}/${options?.subresource ?? ""}`);
      const pool = this.cache.pools.get(subject);
      const { status } = (change as { body: Pick<SandboxPool, "status"> }).body;
      const written = {
        ...pool,
        metadata: { ...pool?.metadata, resourceVersion: String(this.#version++) },
        status: { ...pool?.status, ...status },
      };
      // The bench patches nothing but its pool.
      return written as never;
    };
    return new Proxy({} as ObjectClient, { get: (target, verb) => (verb === "patch" ? patch : refuse(target, verb)) });
  }
}

async function costOfClaim(size: number): Promise<{ reads: number; calls: readonly string[] }> {
  const bench = new Bench(size);
  await bench.look();
  await bench.clock.step(10_000);
  expect(await bench.look()).toMatchObject({ calls: [] });
  bench.claim("py-7");
  const cost = await bench.look();
  expect(bench.cache.pools.get(key)?.status).toMatchObject({ replicas: size, idleReplicas: size - 1, runningReplicas: 1, phase: "Ready" });
  return cost;
}

test("a claim costs a pool of ten thousand pods what it costs one of ten", async () => {
  const small = await costOfClaim(10);
  expect(await costOfClaim(10_000)).toEqual(small);
  expect(small.calls).toEqual(["patch sandboxpools/status"]);
  expect(small.reads).toBeGreaterThan(5);
  expect(small.reads).toBeLessThan(50);
});
