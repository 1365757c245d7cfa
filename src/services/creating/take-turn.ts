/** A turn in the queue: the request waits at all pools that could serve it and gets the first pod that any of them offers. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { Turn } from "#scheduling/claim-queue.ts";
import type { Reservation } from "#scheduling/idle-pods.ts";
import { routeOrder } from "#scheduling/route-to-pools.ts";
import type { ClaimContext } from "./claim-context.ts";
import type { CreateSource } from "./create-source.ts";
import { type CreateTime, serverStops } from "./create-time.ts";
import { noneFree, nothingToWaitFor, retryAfterSeconds, shortageDetails } from "./pool-shortage.ts";
import { type OfferStanding, offerStandings, type WantedOffer } from "./pool-standing.ts";
import { ServiceError } from "#services/service-error.ts";

export interface TurnWish {
  /** What the create named. */
  readonly source: CreateSource;
  /** At least one. */
  readonly offers: readonly WantedOffer[];
  /** Tenant whose turn it uses. */
  readonly tenant: string;
  readonly time: CreateTime;
}

/** `instead`: the pod that the request had before and found outdated. */
export async function takeTurn(deps: ClaimContext, wish: TurnWish, instead: Reservation | undefined): Promise<Reservation> {
  const { source, tenant, time } = wish;
  const standings = standingsOf(deps, wish);
  const [best] = standings;
  const refusal = best === undefined ? goneOf(source) : nothingToWaitFor(source, standings);
  if (refusal !== undefined || best === undefined) {
    instead?.outdated();
    throw refusal;
  }
  const since = deps.clock.now();
  const request = { tenant, pools: standings.map(({ offer }) => offer), signal: time.left, late: time.waited };
  const turn = await deps.queue.take(instead === undefined ? request : { ...request, instead });
  const pool = turn.kind === "pod" ? turn.reservation.pool : best.pool;
  const waitedMs = deps.clock.now() - since;
  deps.meters.waited(pool, waitedMs);
  // The best comes first: where it has no pod, none has. A request that lost its pod to another process has found one.
  if (best.readyIdle === 0 && instead === undefined) {
    deps.meters.missed(pool, envName(source), waitedMs);
    deps.onMiss?.(tenant);
  }
  if (turn.kind === "pod") return turn.reservation;
  throw refusalOf(deps, wish, turn);
}

function envName({ env }: CreateSource): string {
  return env?.metadata.name ?? "";
}

/** Best first. */
function standingsOf(deps: ClaimContext, { source: { env }, offers }: TurnWish): readonly OfferStanding[] {
  // As the Env is now: while the request waited, its group may have been enabled or its maximum raised.
  const current = env === undefined ? undefined : deps.cache.envs.get({ namespace: env.metadata.namespace, name: env.metadata.name ?? "" });
  return routeOrder(offerStandings(deps, current, offers));
}

function refusalOf(deps: ClaimContext, wish: TurnWish, turn: Exclude<Turn, { kind: "pod" }>): Error {
  const { source, time } = wish;
  if (turn.kind === "gone") return goneOf(source);
  if (turn.kind === "canceled") return time.left.reason as Error;
  if (turn.kind === "stopped") return serverStops();
  const standings = standingsOf(deps, wish);
  const after = retryAfterSeconds(deps.cache, standings, deps.clock.now());
  const details = { ...withoutUndefined({ retryAfterSeconds: after }), ...shortageDetails(source, standings) };
  if (turn.kind === "late") return new ServiceError("no_capacity", noneFree(source, standings, time.waitMs), details);
  const whose = turn.of === "tenant" ? "of this team (limit waitingCreates)" : "in all";
  return new ServiceError("queue_full", `too many requests ${whose} wait for a sandbox already`, { ...details, retryAfterSeconds: 1 });
}

function goneOf({ isPool, what, pools }: CreateSource): ServiceError {
  const message = isPool
    ? `the pool ${JSON.stringify(pools[0]?.metadata.name ?? "")} is being deleted`
    : `the pools of ${what} are being deleted`;
  return new ServiceError("not_found", message, { field: "from" });
}
