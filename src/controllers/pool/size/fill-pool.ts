/** Makes the pods that a pool lacks, as far as they can be made now; what keeps it from that is remembered as the pool's trouble. */
import { backoffMs } from "#lib/backoff.ts";
import { poolConditionReasons } from "#model/keys.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { imagesToResolve } from "#sandbox/images/images.ts";
import { createPods, PodRefusedError } from "./create-pods.ts";
import { planRefill, type RefillPlan } from "./plan-refill.ts";
import { podsWaitedFor } from "./waiter-pods.ts";
import { namedTemplate, type PoolBlueprint } from "#controllers/pool/pool-blueprint.ts";
import type { PoolCounts } from "#controllers/pool/status/pool-counts.ts";
import { keyOf, type PoolTools } from "#controllers/pool/pool-deps.ts";
import type { PodBook } from "./pool-ledger.ts";
import type { PoolMemory, Trouble } from "./pool-memory.ts";
import { knownImages, resolveImages } from "#controllers/pool/resolve-images.ts";
import { tellWarnings } from "#controllers/pool/status/tell-pool.ts";
import { isApiError } from "#kube/api-error.ts";

export interface Lacking {
  readonly missing: number;
  readonly counts: PoolCounts;
}

/** Resolves with when to look again, if nothing else happens. */
export async function fillPool(
  tools: PoolTools,
  pool: SandboxPool,
  { blueprint, missing, counts }: Lacking & { readonly blueprint: PoolBlueprint },
  signal: AbortSignal,
): Promise<number | undefined> {
  const waitMs = timeUntilRetry(tools, pool);
  if (waitMs > 0) return waitMs;
  const count = howMany(tools, pool, { blueprint, missing, counts });
  if (count.create === 0 && isEveryImageKnown(tools, pool, blueprint)) {
    // A full pool has no trouble, whatever kept it from becoming full before.
    if (missing <= 0) conclude(tools, pool, undefined);
    return count.againInMs;
  }
  // What has become of it wakes us when the cache hears of it.
  if (count.create > 0 && !(await isStillThere(tools, pool, signal))) return undefined;
  const images = await resolveImages(tools, pool, blueprint.template, signal);
  const failures =
    count.create > 0 && images.isEnoughForPods
      ? await createPods(tools, pool, { count: count.create, template: blueprint.template, digests: images.digests }, signal)
      : [];
  if (count.create > 0) tellWarnings(tools, pool, blueprint);
  return conclude(tools, pool, failures.length > 0 ? refused(failures[0]) : images.trouble) ?? count.againInMs;
}

interface HowMany {
  readonly create: number;
  readonly againInMs: number | undefined;
}

function howMany(
  tools: PoolTools,
  pool: SandboxPool,
  { blueprint, missing, counts }: Lacking & { readonly blueprint: PoolBlueprint },
): HowMany {
  const { clock, memories, ledger, pressure, pace } = tools;
  const key = keyOf(pool);
  const memory = memories.of(key);
  const now = clock.now();
  const lossMs = waitAfterLosses(memory, ledger.of(key), blueprint.hash, now);
  if (missing > 0 && lossMs > 0) return { create: 0, againInMs: lossMs };
  const since = (ms: number | undefined): number => (ms === undefined ? 0 : now - ms);
  const urgent = podsWaitedFor(tools, pool, counts);
  // Until nothing waits any more: a pool at which something always waits holds its stock back once.
  if (urgent === undefined) memory.stockHeldSinceMs = undefined;
  const situation = {
    missing,
    ready: counts.idle - counts.unreadyIdle,
    claimsInFlight: pressure?.inFlight(key) ?? 0,
    heldForMs: since(memory.heldSinceMs),
    urgent,
    stockHeldForMs: since(memory.stockHeldSinceMs),
  };
  const plan = planRefill(situation, pace);
  rememberHolding(memory, plan, now);
  return plan;
}

/** Since when pods are held back for claims, and stock for requests that wait. */
function rememberHolding(memory: PoolMemory, plan: RefillPlan, now: number): void {
  if (plan.yieldsTo === "waiting") memory.stockHeldSinceMs ??= now;
  if (plan.yieldsTo !== "claims") memory.heldSinceMs = undefined;
  else if (plan.create > 0) memory.heldSinceMs = now;
  else memory.heldSinceMs ??= now;
}

/** Another template has the losses of the one before forgiven. */
function waitAfterLosses(memory: PoolMemory, pods: PodBook, hash: string, now: number): number {
  memory.losses.observe(pods, now);
  if (memory.lossesOf !== undefined && memory.lossesOf !== hash) memory.losses.forgive();
  memory.lossesOf = hash;
  return memory.losses.waitMs(now);
}

/** A pool that wants no pods yet still says what its images mean. */
function isEveryImageKnown(tools: PoolTools, pool: SandboxPool, { template }: PoolBlueprint): boolean {
  const known = new Set(knownImages(tools, pool).map(({ image }) => image));
  return imagesToResolve(template).every((image) => known.has(image));
}

/** Pods that come and go wake the pool; that is no reason to ask a registry again that has just refused. What the user changes is. */
function timeUntilRetry(tools: PoolTools, pool: SandboxPool): number {
  const { retry } = tools.memories.of(keyOf(pool));
  return retry === undefined || retry.of !== triedWith(tools, pool) ? 0 : Math.max(0, retry.atMs - tools.clock.now());
}

function conclude(tools: PoolTools, pool: SandboxPool, trouble: Trouble | undefined): number | undefined {
  const memory = tools.memories.of(keyOf(pool));
  memory.trouble = trouble;
  if (trouble === undefined) {
    memory.retry = undefined;
    return undefined;
  }
  const of = triedWith(tools, pool);
  const failures = (memory.retry?.of === of ? memory.retry.failures : 0) + 1;
  const againInMs = backoffMs(tools.pace.retry, failures, tools.random);
  memory.retry = { failures, atMs: tools.clock.now() + againInMs, of };
  tools.log.warn({ pool: pool.metadata.name, namespace: pool.metadata.namespace, ...trouble, failures, againInMs }, "pool in trouble");
  return againInMs;
}

function triedWith(tools: PoolTools, pool: SandboxPool): string {
  const { uid, generation = 0 } = namedTemplate(tools, pool)?.metadata ?? {};
  return `${pool.metadata.uid}/${pool.metadata.generation ?? 0}/${uid}/${generation}`;
}

function refused(error: unknown): Trouble {
  if (error instanceof PodRefusedError) return { reason: poolConditionReasons.refusedByPlugin, message: error.message };
  const why = error instanceof Error ? error.message : String(error);
  return { reason: poolConditionReasons.podsRefused, message: `pods cannot be created: ${why}` };
}

/**
 * Whether the pool is still there, asked of the server itself. A cache that fell behind may show one that is gone, or another of its name in
 * its place: pods made for it would be collected as soon as they are there, and made again as fast as that.
 */
async function isStillThere({ client }: PoolTools, pool: SandboxPool, signal: AbortSignal): Promise<boolean> {
  try {
    const { metadata } = await client.get(SandboxPools, keyOf(pool), { signal });
    return metadata.uid === pool.metadata.uid && metadata.deletionTimestamp === undefined;
  } catch (error) {
    if (isApiError(error, "NotFound")) return false;
    throw error;
  }
}
