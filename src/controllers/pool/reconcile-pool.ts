/**
 * Keeps a pool's pods: as many as wanted, and a status that says how it stands.
 * - `pool-counts.ts`   how many pods stand where, read off the indexes
 * - `scale-pool.ts`    creates what is missing and deletes idle pods that are too many
 * - `pool-status.ts`   phase, counters, selectors and conditions (pure)
 * Claiming, recycling and history build on this.
 */
import { isDeepStrictEqual } from "node:util";
import { isApiError } from "#kube/api-error.ts";
import { changesOf, type Source } from "#kube/controller/source.ts";
import { type Controller, type ControllerDeps, startController } from "#kube/controller/controller.ts";
import type { Key } from "#kube/controller/key.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import { podsByPoolAndSlot, slotValue } from "#kube/sandbox-cache/indexes.ts";
import { kubernetesTime } from "#lib/clock.ts";
import { poolOf, sandboxIdOf } from "#model/claimed-pod.ts";
import { finalizers } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { countPods } from "./pool-counts.ts";
import type { PoolDeps } from "./pool-deps.ts";
import { poolStatus } from "./pool-status.ts";
import { deletedAsSeen, letGo, scalePool } from "./scale-pool.ts";

/** Brings one pool to its wanted size. Reads only the cache; may run at any time, any number of times. */
export async function reconcilePool(deps: PoolDeps, key: Key, signal: AbortSignal): Promise<Requeue> {
  const pool = deps.cache.pools.objects.get(key);
  // One that carries a sandbox is held until its record is written, which is not ours to do (I3).
  for (const pod of terminating(deps, key)) if (sandboxIdOf(pod) === undefined) await letGo(deps, pod);
  if (pool === undefined) {
    deps.expectations.forget(key);
    return undefined;
  }
  if (pool.metadata.deletionTimestamp !== undefined) return drainPool(deps, pool);
  if (!(await hasFinalizer(deps, pool))) return undefined;
  // Our last creates may not be in the cache yet; counting now would create them twice.
  if (deps.expectations.satisfied(key)) await scalePool(deps, pool, signal);
  await writeStatus(deps, pool);
  return undefined;
}

function terminating({ cache }: PoolDeps, { namespace = "", name }: Key): Pod[] {
  return cache.pods.objects.lookup(podsByPoolAndSlot, slotValue({ namespace, pool: name, slot: "terminating" })).toArray();
}

/** Deletes all pods that are not in use, and lets go of the pool when none is left. */
async function drainPool(deps: PoolDeps, pool: SandboxPool): Promise<Requeue> {
  const { namespace = "", name = "" } = pool.metadata;
  for (const slot of ["idle", "failed", "unknown"] as const) {
    const pods = deps.cache.pods.objects.lookup(podsByPoolAndSlot, slotValue({ namespace, pool: name, slot })).toArray();
    for (const pod of pods) await deletedAsSeen(deps, pod);
  }
  const counts = countPods(deps.cache, pool);
  const left =
    terminating(deps, { namespace, name }).length + counts.idle + counts.starting + counts.running + counts.stopping + counts.failed;
  if (left > 0) {
    await writeStatus(deps, pool);
    return undefined;
  }
  await patchFinalizers(
    deps,
    pool,
    (pool.metadata.finalizers ?? []).filter((one) => one !== finalizers.pool),
  );
  return undefined;
}

/** Without our finalizer a deleted pool would be gone before its pods are looked after. False when it was only now added. */
async function hasFinalizer(deps: PoolDeps, pool: SandboxPool): Promise<boolean> {
  const present = pool.metadata.finalizers ?? [];
  if (present.includes(finalizers.pool)) return true;
  await patchFinalizers(deps, pool, [...present, finalizers.pool]);
  return false;
}

async function patchFinalizers({ client }: PoolDeps, pool: SandboxPool, wanted: readonly string[]): Promise<void> {
  const { namespace, name = "", resourceVersion = "" } = pool.metadata;
  const body = { metadata: { resourceVersion, finalizers: wanted.length === 0 ? null : wanted } };
  try {
    await client.patch(SandboxPools, { namespace, name }, { type: "merge", body });
  } catch (error) {
    // Changed or gone since we looked: that change wakes us again.
    if (!isApiError(error, "Conflict", "NotFound")) throw error;
  }
}

async function writeStatus({ client, cache, clock }: PoolDeps, pool: SandboxPool): Promise<void> {
  const status = poolStatus(pool, countPods(cache, pool), kubernetesTime(clock.now()));
  if (isDeepStrictEqual(status, pool.status)) return;
  try {
    await client.update(SandboxPools, { ...pool, status }, { subresource: "status" });
  } catch (error) {
    if (!isApiError(error, "Conflict", "NotFound")) throw error;
  }
}

/** Runs the loop. Pods that come and go lower the expectations before the pool looks again. */
export function startPoolController(deps: PoolDeps & ControllerDeps): Controller {
  const { cache } = deps;
  observeExpectations(deps);
  const ofTemplate: Source = changesOf(cache.templates, {
    keys: (template) => {
      const using = cache.pools.objects.list().filter((pool) => pool.spec.templateName === template.metadata.name);
      return using.map(({ metadata }) => ({ namespace: metadata.namespace, name: metadata.name ?? "" })).toArray();
    },
  });
  return startController(deps, {
    name: "pool",
    reconcile: (key, signal) => reconcilePool(deps, key, signal),
    sources: [changesOf(cache.pools), changesOf(cache.pods, { keys: poolKeys }), ofTemplate],
  });
}

function poolKeys(pod: Pod): Key[] {
  const pool = poolOf(pod);
  return pool === undefined ? [] : [{ namespace: pod.metadata.namespace, name: pool }];
}

function observeExpectations({ cache, expectations }: PoolDeps): void {
  cache.pods.onChange((now, before) => {
    const pod = now ?? before;
    const pool = pod === undefined ? undefined : poolOf(pod);
    if (pod === undefined || pool === undefined) return;
    const owner = { namespace: pod.metadata.namespace, name: pool };
    if (before === undefined) expectations.creationObserved(owner, pod.metadata.name ?? "");
    if (now === undefined || now.metadata.deletionTimestamp !== undefined) expectations.deletionObserved(owner, pod.metadata.uid ?? "");
  });
}
