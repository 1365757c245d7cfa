/**
 * A deleted pool takes all its pods along, those with sandboxes too: the pod controller records these before it lets go of them (I3, W9).
 * The pool itself goes with its last pod.
 */
import { isApiError } from "#kube/api-error.ts";
import { type PoolSlot, podsByPoolAndSlot, slotValue } from "#read-model/indexes.ts";
import { Limiter } from "#lib/limiter.ts";
import { finalizers } from "#model/keys.ts";
import { type Pod, Pods } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { patchPool } from "./patch-pool.ts";
import { countPods, replicasOf } from "./status/pool-counts.ts";
import { keyOf, type PoolTools } from "./pool-deps.ts";

const livingSlots: readonly PoolSlot[] = ["idle", "starting", "running", "stopping", "failed", "unknown"];

/** True when there was nothing left to wait for. */
export async function drainPool(tools: PoolTools, pool: SandboxPool, signal: AbortSignal): Promise<boolean> {
  const key = keyOf(pool);
  // Pods that we made a moment ago may not be in the cache yet; they have to be waited for, and gone, before the pool may go.
  if (!tools.expectations.satisfied(key)) return false;
  const counts = countPods(tools.cache, key);
  if (replicasOf(counts) > 0) await deleteAll(tools, pool, signal);
  if (replicasOf(counts) + counts.terminating > 0) return false;
  const left = (pool.metadata.finalizers ?? []).filter((one) => one !== finalizers.pool);
  if (left.length === pool.metadata.finalizers?.length) return true;
  await patchPool(tools, pool, { finalizers: left.length === 0 ? null : left }, signal);
  return true;
}

/** As many as a pool makes in one go; what goes wakes the pool for the next ones. */
async function deleteAll(tools: PoolTools, pool: SandboxPool, signal: AbortSignal): Promise<void> {
  const { namespace = "", name } = keyOf(pool);
  const pods = livingSlots
    .values()
    .flatMap((slot) => tools.cache.pods.objects.lookup(podsByPoolAndSlot, slotValue({ namespace, pool: name, slot })))
    .take(tools.pace.maxCreations)
    .toArray();
  const uids = pods.map(({ metadata }) => metadata.uid ?? "");
  tools.expectations.expectDeletions(keyOf(pool), uids);
  const limiter = new Limiter(tools.creationsAtOnce);
  const ends = await Promise.allSettled(pods.map((pod) => limiter.run(() => deletePod(tools, pool, pod, signal))));
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

/** By uid alone: whatever has become of the pod since, it goes. A new pod of the same name is another one. */
async function deletePod(tools: PoolTools, pool: SandboxPool, { metadata }: Pod, signal: AbortSignal): Promise<void> {
  const { namespace, name = "", uid = "" } = metadata;
  await tools.clock.turns?.next();
  try {
    await tools.client.delete(Pods, { namespace, name }, { preconditions: { uid }, signal });
  } catch (error) {
    tools.expectations.deletionFailed(keyOf(pool), uid);
    if (!isApiError(error, "NotFound", "Conflict")) throw error;
  }
}
