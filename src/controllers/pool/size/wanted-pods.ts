/** How many pods a pool wants now, and which version of its template it hands out. */
import type { SandboxPool, ServedVersion } from "#model/sandbox-pool.ts";
import { versionToServe } from "#sandbox/pools/served-version.ts";
import { blueprintOf } from "#controllers/pool/pool-blueprint.ts";
import { countPods, type PoolCounts, replicasOf } from "#controllers/pool/status/pool-counts.ts";
import { keyOf, type PoolTools } from "#controllers/pool/pool-deps.ts";
import { knownImages } from "#controllers/pool/resolve-images.ts";
import { podsForWaiters } from "./waiter-pods.ts";

/**
 * `spec.replicas`, or more where requests wait in an Env that may grow; and one more while a changed template is tried. `most`: what plugins
 * know of, for requests that wait.
 */
export function wantedPods(
  tools: PoolTools,
  pool: SandboxPool,
  counts: PoolCounts = countPods(tools.cache, keyOf(pool)),
  most = Infinity,
): number {
  const replicas = Math.max(pool.spec.replicas, Math.min(most, podsForWaiters(tools, pool, counts)));
  const blueprint = blueprintOf(tools, pool);
  if (blueprint.kind === "trouble") return replicas;
  const { hash } = blueprint;
  const book = tools.ledger.of(keyOf(pool));
  const [candidates, outdated] = [book.idleOf(hash), book.outdated(hash)];
  const missing = replicas - replicasOf(counts);
  return replicas + planCanary({ replicas, missing, isProven: isProven(tools, pool, hash), candidates, outdated });
}

/** Whether pods of this template may take the place of others: one has been ready, or there is no version that serves. */
export function isProven({ ledger }: PoolTools, pool: SandboxPool, hash: string): boolean {
  const serving = pool.status?.serving?.templateHash;
  return serving === undefined || serving === hash || ledger.of(keyOf(pool)).isProven(hash);
}

/** Undefined: as before. */
export function servedNow(tools: PoolTools, pool: SandboxPool): ServedVersion | undefined {
  const blueprint = blueprintOf(tools, pool);
  if (blueprint.kind === "trouble" || tools.memories.of(keyOf(pool)).trouble !== undefined) return undefined;
  if (!tools.ledger.of(keyOf(pool)).isProven(blueprint.hash)) return undefined;
  const digests = Object.fromEntries(knownImages(tools, pool).map(({ image, digest }) => [image, digest]));
  return versionToServe(blueprint.template, blueprint.hash, digests);
}

/**
 * A changed template is tried on one pod beside the others. They are replaced when that one has become ready, and not before: a template
 * that cannot start costs a pool none of the pods that it has.
 */
interface CanarySituation {
  readonly replicas: number;
  /** Pods that are to be made until there are `replicas`; negative when there are more. */
  readonly missing: number;
  /** Whether a pod of the present template has been ready, or none of any template. */
  readonly isProven: boolean;
  /** Idle pods of the present template. */
  readonly candidates: number;
  /** Idle pods of any other. */
  readonly outdated: number;
}

/** How many pods are wanted beside the others. */
function planCanary({ replicas, missing, isProven: isReady, candidates, outdated }: CanarySituation): 0 | 1 {
  if (replicas === 0) return 0;
  // It has become one of them: what it replaces goes at once, and not as a pod too many after its time of grace.
  if (isReady) return missing === -1 && candidates > 0 && outdated > 0 ? 1 : 0;
  const isDue = missing === 0 && candidates === 0;
  const isThere = missing === -1 && candidates > 0;
  return isDue || isThere ? 1 : 0;
}
