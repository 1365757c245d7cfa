/**
 * Keeps pools: as many pods as wanted, of the present template, and a status that says how it stands. The life of single pods, from their
 * claim to their record and the end of their finalizer, is `controllers/pod`.
 *
 * - `reconcile-pool.ts`  the order of it all, and the loop
 * - `pool-counts.ts`     how many pods stand where, read off the indexes; `pool-ledger.ts` which pods something is to be done about
 *   (`pod-note.ts` what is read off one, `time-order.ts` the longest first)
 * - `keep-metadata.ts`   finalizer, and what comes from the template
 * - `fill-pool.ts`       makes what is missing: `plan-refill.ts` how many now, beside `claim-pressure.ts`; `loss-backoff.ts` not again and
 *   again; `confirm-pool.ts` not for one that is gone; `pool-blueprint.ts`, `resolve-images.ts` of what; `create-pods.ts` the calls
 * - `scale-down.ts`      marks and deletes what is too much, by `plan-scale-down.ts`
 * - `roll-out.ts`        replaces idle pods of an earlier template, by `plan-rollout.ts`
 * - `give-up-unready.ts` replaces pods that do not become ready (`unready-since.ts` for how long they are not); `tidy-pods.ts` those that
 *   lost their protection or phase
 * - `drain-pool.ts`      the end of a pool
 * - `pool-status.ts`     phase, counters, selectors and conditions (pure); `write-status.ts`, `tell-pool.ts` events, `pool-numbers.ts` metrics
 * - `remove-pods.ts`, `patch-pool.ts` the writes; `pool-deps.ts`, `pool-memory.ts` what all of them work with
 */
import { hostname } from "node:os";
import { isDeepStrictEqual } from "node:util";
import { type Controller, type ControllerDeps, startController } from "#kube/controller/controller.ts";
import type { Key } from "#kube/controller/key.ts";
import { changesOf, type Source } from "#kube/controller/source.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import { EventRecorder } from "#kube/events/event-recorder.ts";
import { poolsByTemplateName } from "#kube/sandbox-cache/indexes.ts";
import { poolOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import { waitingRequests } from "./claim-pressure.ts";
import { drainPool } from "./drain-pool.ts";
import { fillPool } from "./fill-pool.ts";
import { giveUpUnready } from "./give-up-unready.ts";
import { keepMetadata } from "./keep-metadata.ts";
import { blueprintOf } from "./pool-blueprint.ts";
import { countPods, replicasOf } from "./pool-counts.ts";
import { defaultPoolPace, defaultProtectionWindowMs, keyOf, type PoolDeps, type PoolTools } from "./pool-deps.ts";
import { PoolLedger } from "./pool-ledger.ts";
import { PoolMemories } from "./pool-memory.ts";
import { PoolNumbers } from "./pool-numbers.ts";
import { rollOut } from "./roll-out.ts";
import { scaleDown } from "./scale-down.ts";
import { tidyPods } from "./tidy-pods.ts";
import { UnreadySince } from "./unready-since.ts";
import { writeStatus } from "./write-status.ts";

/** Brings one pool to where it should be. Reads only the cache; may run at any time, any number of times. */
export async function reconcilePool(tools: PoolTools, key: Key, signal: AbortSignal): Promise<Requeue> {
  const seen = tools.cache.pools.objects.get(key);
  if (seen === undefined) {
    forget(tools, key);
    return undefined;
  }
  tools.numbers.follow(key, seen);
  if (seen.metadata.deletionTimestamp !== undefined) {
    if (await drainPool(tools, seen, signal)) return undefined;
    return earliest([await writeStatus(tools, seen, signal)]);
  }
  const pool = await keepMetadata(tools, seen, signal);
  if (pool === undefined) return undefined;
  await tidyPods(tools, pool, signal);
  const again = await keepPods(tools, pool, signal);
  return earliest([...again, await writeStatus(tools, pool, signal)]);
}

/** Resolves with when to look again, for each part. */
async function keepPods(tools: PoolTools, pool: SandboxPool, signal: AbortSignal): Promise<readonly (number | undefined)[]> {
  const key = keyOf(pool);
  // What we did last may not be in the cache yet; counting now would do it twice (I6).
  if (!tools.expectations.satisfied(key)) return [];
  const counts = countPods(tools.cache, key);
  const missing = pool.spec.replicas - replicasOf(counts);
  const blueprint = blueprintOf(tools, pool);
  const down = await scaleDown(tools, pool, -missing, signal);
  if (blueprint.kind === "trouble") {
    tools.memories.of(key).trouble = blueprint.trouble;
    return [down];
  }
  const fill = await fillPool(tools, pool, { blueprint, missing, counts }, signal);
  // Old pods are better than none, so nothing is replaced while nothing new can be made or too many are there.
  if (missing >= 0 && tools.memories.of(key).trouble === undefined) await rollOut(tools, pool, { hash: blueprint.hash, missing }, signal);
  return [down, fill, await giveUpUnready(tools, pool, signal)];
}

function earliest(times: readonly (number | undefined)[]): Requeue {
  const some = times.filter((time) => time !== undefined);
  return some.length === 0 ? undefined : { afterMs: Math.max(1, Math.min(...some)), exact: true };
}

function forget({ expectations, ledger, memories, numbers }: PoolTools, key: Key): void {
  expectations.forget(key);
  ledger.forget(key);
  memories.forget(key);
  numbers.forget(key);
}

/** Runs the loop. Pods that come and go lower the expectations before the pool looks again. */
export function startPoolController(deps: PoolDeps & ControllerDeps): Controller {
  const { cache } = deps;
  const tools = poolTools(deps);
  const ofTemplate: Source = changesOf(cache.templates, {
    keys: ({ metadata: { name = "" } }) => cache.pools.objects.lookup(poolsByTemplateName, name).map(keyOf).toArray(),
    when: (now, before) => !isDeepStrictEqual(templateParts(now), templateParts(before)),
  });
  const forgetEvents = cache.pools.onChange((now, before) => {
    if (now === undefined && before !== undefined) tools.events.forget(before.metadata.uid ?? "");
  });
  return startController(deps, {
    name: "pool",
    reconcile: (key, signal) => reconcilePool(tools, key, signal),
    sources: [changesOf(cache.pools), changesOf(cache.pods, { keys: poolKeys }), ofTemplate, waitingRequests(deps.pressure)],
    following: [
      tools.ledger.follow(cache.pods),
      tools.unready.follow(cache.pods),
      observeExpectations(deps),
      () => forgetEvents.remove(),
      () => tools.numbers.stop(),
    ],
  });
}

export function poolTools(deps: PoolDeps & ControllerDeps): PoolTools {
  const pace = { ...defaultPoolPace, ...deps.pace };
  return {
    ...deps,
    pace,
    events: deps.events ?? new EventRecorder({ ...deps, component: "agentbox-controller", host: hostname() }),
    protectionWindowMs: deps.protectionWindowMs ?? (() => defaultProtectionWindowMs),
    ledger: new PoolLedger(),
    unready: new UnreadySince(deps.clock),
    memories: new PoolMemories(pace, deps.random),
    numbers: new PoolNumbers(deps),
  };
}

/** What of a template concerns its pools. Its status is not among it: that is made from theirs. */
function templateParts(template: SandboxTemplate | undefined): readonly unknown[] {
  const { uid, generation, labels, annotations } = template?.metadata ?? {};
  return [uid, generation, labels, annotations];
}

function poolKeys(pod: Pod): Key[] {
  const pool = poolOf(pod);
  return pool === undefined ? [] : [{ namespace: pod.metadata.namespace, name: pool }];
}

function observeExpectations({ cache, expectations }: PoolDeps): () => void {
  const registration = cache.pods.onChange((now, before) => {
    const pod = now ?? before;
    const pool = pod === undefined ? undefined : poolOf(pod);
    if (pod === undefined || pool === undefined) return;
    const owner = { namespace: pod.metadata.namespace, name: pool };
    if (before === undefined) expectations.creationObserved(owner, pod.metadata.name ?? "");
    if (now === undefined || now.metadata.deletionTimestamp !== undefined) expectations.deletionObserved(owner, pod.metadata.uid ?? "");
  });
  return () => registration.remove();
}
