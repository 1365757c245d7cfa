/** Asks the plugins before pods are made beyond `spec.replicas`. The autoscaler asks about `spec.replicas` itself before it writes it. */
import type { Key } from "#kube/controller/key.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { countUnschedulable, type PoolCounts, replicasOf } from "./status/pool-counts.ts";
import { keyOf, type PoolTools } from "./pool-deps.ts";
import { podsForWaiters } from "./size/waiter-pods.ts";

/**
 * Whether requests wait and pods are there that no node takes: then it is asked whether one more would find room, so that siblings hear
 * that these are not to be waited for.
 */
export function waitsInVain({ cache, pressure }: PoolTools, key: Key): boolean {
  return (pressure?.waiting(key) ?? 0) > 0 && countUnschedulable(cache, key) > 0;
}

/**
 * Resolves with the number of pods that plugins know of: more requests may come while they are asked, and those are for the next look. A
 * refusal is remembered in `tools.refusals`, where the number of wanted pods finds it.
 */
export async function askPlugins(tools: PoolTools, pool: SandboxPool, counts: PoolCounts, signal: AbortSignal): Promise<number> {
  const key = keyOf(pool);
  if (tools.plugins === undefined || tools.refusals.fresh(key) !== undefined) return Infinity;
  const present = replicasOf(counts);
  const enough = Math.max(pool.spec.replicas, present);
  const wanted = Math.max(podsForWaiters(tools, pool, counts), waitsInVain(tools, key) ? enough + 1 : 0);
  if (wanted <= enough) return enough;
  const { admitted, refusal } = await tools.plugins.probe(pool, wanted, signal);
  if (refusal === undefined || admitted >= wanted) return wanted;
  tools.log.warn({ pool: key.name, namespace: key.namespace, wanted, admitted, ...refusal }, "pods for waiting requests refused");
  tools.refusals.note(key, { admitted: Math.max(admitted, present), wanted, refusal });
  return Math.max(enough, admitted);
}
