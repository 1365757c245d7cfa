/** How the pools stand that could serve a create: pods by what they do, requests that wait, and whether more pods may come. */
import { keyOf } from "#kube/informer/indexed-store.ts";
import { podsByPoolAndSlot, type PoolSlot, slotValue } from "#read-model/indexes.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { PoolStanding } from "#model/error-codes.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { parseTime } from "#sandbox/annotation-values.ts";
import type { ClaimQueue } from "#scheduling/claim-queue.ts";
import type { PoolRef } from "#scheduling/pool-ref.ts";
import type { RouteStanding } from "#scheduling/route-to-pools.ts";
import { type Growth, growthOf, priorityOf } from "./env-members.ts";

export interface StandingDeps {
  readonly cache: Pick<SandboxCache, "pods" | "pools" | "poolsOfEnv">;
  readonly queue: Pick<ClaimQueue, "waiting" | "free" | "freeOn">;
  readonly clock: { now(): number };
}

/** A pool that a request may have a pod of, and what the pod is to run. */
export interface WantedOffer {
  readonly pool: PoolRef;
  readonly digest: string;
}

export interface OfferStanding<Offer extends WantedOffer = WantedOffer> extends RouteStanding {
  readonly offer: Offer;
  readonly object: SandboxPool;
  readonly counts: PoolStanding;
  readonly growth: Growth;
  /** Why it could not grow lately. */
  readonly saturation?: string;
}

/** From the offers whose pool still exists. */
export function offerStandings<Offer extends WantedOffer>(
  deps: StandingDeps,
  env: SandboxEnv | undefined,
  offers: readonly Offer[],
): readonly OfferStanding<Offer>[] {
  return offers.flatMap((offer) => {
    const object = deps.cache.pools.get(offer.pool);
    // A pool that is being deleted may still have idle pods, and a request that waited there would wait in vain.
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return [];
    return [standingOf(deps, env, { offer, object })];
  });
}

function standingOf<Offer extends WantedOffer>(
  deps: StandingDeps,
  env: SandboxEnv | undefined,
  { offer, object }: { readonly offer: Offer; readonly object: SandboxPool },
): OfferStanding<Offer> {
  const { pool, digest } = offer;
  const counts = countsOf(deps, pool);
  const growth = growthOf(env, object);
  const { saturatedUntil, scaleUpErrorMessage = "it found no room to grow" } = object.status?.autoscaling ?? {};
  const isSaturated = (parseTime(saturatedUntil) ?? 0) > deps.clock.now();
  return {
    offer,
    object,
    pool,
    counts,
    growth,
    priority: priorityOf(env, pool.name),
    readyOnImage: deps.queue.freeOn(pool, digest),
    readyIdle: deps.queue.free(pool),
    isSaturated,
    isAtCeiling: podsIn(counts) >= ceilingOf(deps, env, { object, growth, pods: podsIn(counts) }),
    ...withoutUndefined({ saturation: isSaturated ? scaleUpErrorMessage : undefined }),
  };
}

interface GrowingPool {
  readonly object: SandboxPool;
  readonly growth: Growth;
  readonly pods: number;
}

/** How many pods the pool may have: what is set by hand, or what member and group allow beside its siblings. */
function ceilingOf(deps: StandingDeps, env: SandboxEnv | undefined, { object, growth, pods }: GrowingPool): number {
  if (growth.kind === "fixed") return object.spec.replicas;
  if (env === undefined || growth.groupMax === Infinity) return growth.memberMax;
  const siblings = deps.cache.poolsOfEnv(keyOf(env)).filter((sibling) => growthOf(env, sibling).group === growth.group);
  const all = siblings.reduce((sum, sibling) => sum + podsIn(countsOf(deps, refOf(sibling))), 0);
  return Math.min(growth.memberMax, pods + growth.groupMax - all);
}

export function refOf({ metadata: { namespace = "", name = "" } }: SandboxPool): PoolRef {
  return { namespace, name };
}

function countsOf({ cache, queue }: StandingDeps, pool: PoolRef): PoolStanding {
  const { namespace, name } = pool;
  const count = (slot: PoolSlot): number => cache.pods.objects.count(podsByPoolAndSlot, slotValue({ namespace, pool: name, slot }));
  const [idle, starting, running, stopping] = [count("idle"), count("starting"), count("running"), count("stopping")];
  return { idle, starting, running, stopping, waiting: queue.waiting(pool) };
}

export function podsIn({ idle, starting, running, stopping }: PoolStanding): number {
  return idle + starting + running + stopping;
}

/** Of all pools together. A request waits at all of its pools at once, so the longest of their lines is the number that waits. */
export function sumOf(standings: readonly Pick<OfferStanding, "counts">[]): PoolStanding {
  const sum = (of: (counts: PoolStanding) => number): number => standings.reduce((total, { counts }) => total + of(counts), 0);
  return {
    idle: sum(({ idle }) => idle),
    starting: sum(({ starting }) => starting),
    running: sum(({ running }) => running),
    stopping: sum(({ stopping }) => stopping),
    waiting: Math.max(0, ...standings.map(({ counts }) => counts.waiting)),
  };
}
