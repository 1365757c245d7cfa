/**
 * Keeps pools: the wanted number of pods of the current template, and a status that describes the pool. The life of single pods, from claim to record, is
 * in `src/life`.
 *
 * - `reconcile-pool.ts` (this file) the loop and its order; it also marks and deletes surplus pods
 * - `keep-metadata.ts` finalizer, and what comes from the template; `drain-pool.ts` the end of a pool
 * - `pool-blueprint.ts`, `resolve-images.ts` what a pod is made of; `pod-note.ts` what the loop needs to know of a pod
 * - `env-membership.ts` the Env of the pool; `ask-plugins.ts` asks plugins before pods are created
 * - `size/` how many pods: `fill-pool.ts` creates missing ones by `plan-refill.ts`, `plan-scale-down.ts` chooses surplus ones,
 *   `pool-allotment.ts` and `pool-quotas.ts` apply limits, with what `pool-sums.ts` knows of all other pools, `waiter-pods.ts` adds pods for waiting requests, `wanted-pods.ts` sums up
 * - `roll-out/` which pods: `roll-out.ts` replaces idle pods of an earlier template, `give-up-unready.ts` pods that do not become ready,
 *   `tidy-pods.ts` pods that lost their phase or finalizer
 * - `status/` what users see: `pool-status.ts` (pure), `write-status.ts`, `tell-pool.ts` events, `pool-numbers.ts` metrics
 * - `patch-pool.ts`, `size/remove-pods.ts` the writes; `pool-deps.ts`, `size/pool-memory.ts` shared state
 */
import { hostname } from "node:os";
import { isDeepStrictEqual } from "node:util";
import { type Controller, type ControllerDeps, startController } from "#kube/controller/controller.ts";
import type { Key } from "#kube/controller/key.ts";
import { changesOf, type Source } from "#kube/controller/source.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import { EventRecorder } from "#kube/events/event-recorder.ts";
import { poolsByTemplateName } from "#read-model/indexes.ts";
import { poolOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import { waitingRequests } from "#life/claim/claim-pressure.ts";
import { drainPool } from "./drain-pool.ts";
import { askPlugins, waitsInVain } from "./ask-plugins.ts";
import { envKeyOf, membershipOf } from "./env-membership.ts";
import { fillPool, type Lacking } from "./size/fill-pool.ts";
import { giveUpUnready } from "./roll-out/give-up-unready.ts";
import { keepMetadata } from "./keep-metadata.ts";
import { blueprintOf } from "./pool-blueprint.ts";
import { allotment, type OtherPools } from "./size/pool-allotment.ts";
import { countPods, replicasOf } from "./status/pool-counts.ts";
import { defaultPoolPace, defaultProtectionWindowMs, keyOf, type PoolDeps, type PoolTools } from "./pool-deps.ts";
import { PoolLedger } from "./size/pool-ledger.ts";
import { PodsUnderWay } from "./size/pods-under-way.ts";
import { PoolMemories, type Trouble } from "./size/pool-memory.ts";
import { PoolSums } from "./size/pool-sums.ts";
import { PoolNumbers } from "./status/pool-numbers.ts";
import { withinQuotas } from "./size/pool-quotas.ts";
import { PoolRefusals } from "./status/pool-refusals.ts";
import { rollOut } from "./roll-out/roll-out.ts";
import { tidyPods } from "./roll-out/tidy-pods.ts";
import { UnreadySince } from "./roll-out/unready-since.ts";
import { podsForWaiters, roomInGroup } from "./size/waiter-pods.ts";
import { isProven, wantedPods } from "./size/wanted-pods.ts";
import { writeStatus } from "./status/write-status.ts";
import { Limiter } from "#lib/limiter.ts";
import { patchPodAsSeen } from "#life/patch-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import { formatTime } from "#sandbox/annotation-values.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import { planScaleDown } from "./size/plan-scale-down.ts";
import type { PodNote } from "./pod-note.ts";
import { removePods } from "./size/remove-pods.ts";

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
  const blueprint = blueprintOf(tools, pool);
  const known = await askPlugins(tools, pool, counts, signal);
  const missing = wantedPods(tools, pool, counts, known) - replicasOf(counts);
  const down = await scaleDown(tools, pool, -missing, signal);
  if (blueprint.kind === "trouble") {
    tools.memories.of(key).trouble = blueprint.trouble;
    return [down];
  }
  const lacking =
    missing > 0 ? withinQuotas(tools, pool, counts, allowed(tools, pool, { missing, counts })) : { missing, trouble: undefined };
  // In the same turn in which they were counted.
  using _ = tools.underWay.take(key, replicasOf(counts), lacking.missing);
  const fill = await fillPool(tools, pool, { blueprint, missing: lacking.missing, counts }, signal);
  // Old pods are better than none, so nothing is replaced while nothing new can be made or too many are there.
  if (missing >= 0 && tools.memories.of(key).trouble === undefined) {
    const { hash } = blueprint;
    await rollOut(tools, pool, { hash, missing, isProven: isProven(tools, pool, hash) }, signal);
  }
  // Behind the rollout, which goes on: it makes nothing more of anything.
  if (lacking.trouble !== undefined) tools.memories.of(key).trouble ??= lacking.trouble;
  const again = lacking.trouble === undefined ? tools.refusals.leftMs(key) : limitedAgainMs;
  const whenSiblingShrank = lacking.missing < missing && lacking.trouble === undefined ? siblingAgainMs : undefined;
  const whenRoomIsKnown = waitsInVain(tools, key) ? siblingAgainMs : undefined;
  return [down, fill, again, whenSiblingShrank, whenRoomIsKnown, await giveUpUnready(tools, pool, signal)];
}

/** Another pool may have left room, which nothing tells this one. */
const limitedAgainMs = 10_000;
const siblingAgainMs = 1_000;

/** How many of the missing pods the limits leave. */
function allowed(
  tools: PoolTools,
  pool: SandboxPool,
  { missing, counts }: Lacking,
): { readonly missing: number; readonly trouble?: Trouble | undefined } {
  const { cache } = tools;
  const wanted = Math.max(pool.spec.replicas, podsForWaiters(tools, pool, counts));
  const { pods, trouble } = allotment(cache.limitTable(), pool, otherPools(tools), wanted);
  // A pod on which a changed template is tried may be one more than the group's maximum: without it nothing would be replaced.
  const tried = Math.max(0, missing + replicasOf(counts) - wanted);
  return { missing: Math.min(Math.max(0, missing - (wanted - pods)), roomInGroup(tools, pool) + tried), trouble };
}

function otherPools({ cache, sums }: PoolTools): OtherPools {
  return {
    podsOfOthers: (pool) => sums.podsOfOthers(pool),
    podsThereOfOthers: (pool) => sums.podsThereOfOthers(pool),
    list: () => cache.pools.objects.list(),
  };
}

function earliest(times: readonly (number | undefined)[]): Requeue {
  const some = times.filter((time) => time !== undefined);
  return some.length === 0 ? undefined : { afterMs: Math.max(1, Math.min(...some)), exact: true };
}

function forget({ expectations, ledger, memories, numbers, refusals }: PoolTools, key: Key): void {
  refusals.forget(key);
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
  const ofEnv: Source = changesOf(cache.envs, {
    keys: ({ metadata: { namespace, name = "" } }) => cache.poolsOfEnv({ namespace, name }).map(keyOf).toArray(),
    // Members, groups and their policies; its status is made from ours.
    when: (now, before) => now?.metadata.generation !== before?.metadata.generation || now?.metadata.uid !== before?.metadata.uid,
  });
  const forgetEvents = cache.pools.onChange((now, before) => {
    if (now === undefined && before !== undefined) tools.events.forget(before.metadata.uid ?? "");
  });
  return startController(deps, {
    name: "pool",
    reconcile: (key, signal) => reconcilePool(tools, key, signal),
    sources: [
      changesOf(cache.pools),
      // Pods that are claimed leave fewer for requests that wait: behind a thousand other pools these would wait as long as all of them take.
      changesOf(cache.pods, { keys: poolKeys, rank: (key) => ((deps.pressure?.waiting(key) ?? 0) > 0 ? "first" : "usual") }),
      ofTemplate,
      ofEnv,
      // A sibling may take over what this pool was refused.
      tools.refusals.source((key) => siblingKeys(deps, key)),
      waitingRequests(deps.pressure),
      ...(cache.limits === undefined ? [] : [changesOf(cache.limits, { keys: () => cache.pools.objects.list().map(keyOf).toArray() })]),
    ],
    following: [
      tools.ledger.follow(cache.pods),
      tools.sums.follow(cache),
      tools.unready.follow(cache.pods),
      observeExpectations(deps),
      () => forgetEvents.remove(),
      () => tools.numbers.stop(),
    ],
  });
}

export function poolTools(deps: PoolDeps & ControllerDeps): PoolTools {
  const pace = { ...defaultPoolPace, ...deps.pace };
  const underWay = new PodsUnderWay();
  const { cache } = deps;
  return {
    ...deps,
    pace,
    events: deps.events ?? new EventRecorder({ ...deps, component: "agentbox-controller", host: hostname() }),
    protectionWindowMs: deps.protectionWindowMs ?? ((pool) => protectionWindowOf(deps, pool)),
    refusals: deps.refusals ?? new PoolRefusals(deps.clock),
    ledger: new PoolLedger(),
    sums: new PoolSums({ living: (key) => replicasOf(countPods(cache, key)), pool: (key) => cache.pools.objects.get(key), underWay }),
    unready: new UnreadySince(deps.clock),
    memories: new PoolMemories(pace, deps.random),
    underWay,
    numbers: new PoolNumbers(deps),
  };
}

/** What the group of its Env says. */
function protectionWindowOf({ cache, clusterID }: PoolDeps, pool: SandboxPool): number {
  const seconds = membershipOf(cache, pool, clusterID)?.group?.scaleDownPolicy?.protectionWindowSeconds;
  return seconds === undefined ? defaultProtectionWindowMs : seconds * 1000;
}

function siblingKeys({ cache }: Pick<PoolDeps, "cache">, key: Key): readonly Key[] {
  const pool = cache.pools.objects.get(key);
  const env = pool === undefined ? undefined : envKeyOf(pool);
  return env === undefined ? [] : cache.poolsOfEnv(env).map(keyOf).toArray();
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

/**
 * Carries out a plan to scale down: marks, takes marks away, and deletes what has been marked for long enough.
 *
 * Also when nothing is too much: marks from before are then taken away. Resolves with when to look again.
 */
async function scaleDown(tools: PoolTools, pool: SandboxPool, surplus: number, signal: AbortSignal): Promise<number | undefined> {
  const key = keyOf(pool);
  const { ready, unready, marked } = tools.ledger.of(key);
  if (surplus <= 0 && marked.size === 0) return undefined;
  const plan = planScaleDown({
    surplus: Math.min(surplus, tools.pace.removalsAtOnce),
    unready: unready.oldestFirst(),
    ready: ready.oldestFirst(),
    marked: marked.values(),
    windowMs: tools.protectionWindowMs(pool),
    now: tools.clock.now(),
  });
  await setMarks(tools, plan.mark, formatTime(tools.clock.now()), signal);
  await setMarks(tools, plan.unmark, undefined, signal);
  await removePods(tools, key, plan.remove, signal);
  return plan.againInMs;
}

/** One write each, on the state that was seen: a pod that has been claimed since is not marked. */
async function setMarks(tools: PoolTools, notes: readonly PodNote[], mark: string | undefined, signal: AbortSignal): Promise<void> {
  const key = annotationKeys.chosenToGo;
  const change = mark === undefined ? { removeAnnotations: [key] } : { annotations: { [key]: mark } };
  const limiter = new Limiter(tools.creationsAtOnce);
  await Promise.all(notes.map(({ pod }) => limiter.run(() => patchPodAsSeen(tools, pod, podPatch(pod, change), signal))));
}
