/**
 * From a request to a pod that is its own: a turn in the queue, then one conditional write. A write that came too late is an outcome:
 * the request goes on to the next pod at once (W5).
 */
import { isApiError, type ApiErrorReason } from "#kube/api-error.ts";
import { isLostRace } from "#kube/lost-race.ts";
import { podsByPoolAndSlot, type PoolSlot, slotValue } from "#kube/sandbox-cache/indexes.ts";
import { abortable } from "#lib/abortable.ts";
import type { Span } from "#lib/tracing.ts";
import { bringToPod, type PlannedClaim, writeClaim } from "#lifecycle/claim-leases.ts";
import type { PoolStanding } from "#model/error-codes.ts";
import { isClaimBeside } from "#model/claim-lease.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { Turn } from "#scheduling/claim-queue.ts";
import type { Reservation } from "#scheduling/idle-pods.ts";
import type { PoolRef } from "#scheduling/pool-ref.ts";
import { type Claim, type ClaimRefusal, planClaim } from "#sandbox/claim-patch.ts";
import type { ClaimContext } from "./claim-context.ts";
import type { ClaimPath } from "./claim-metrics.ts";
import { startFailed } from "./arm-sandbox.ts";
import { type CreateTime, serverStops } from "./create-time.ts";
import { ServiceError } from "./service-error.ts";
import { asServiceError } from "./service-failure.ts";
import { type DoubtfulClaim, giveBack, withdrawClaim } from "./withdraw-claim.ts";

export interface PodWish {
  readonly pool: PoolRef;
  /** Whose turn it takes. */
  readonly tenant: string;
  /** What the first container is to run. */
  readonly digest: string;
  /** What is written, if it is written now. */
  readonly claimAt: (now: number) => Claim;
  readonly time: CreateTime;
}

export interface ClaimedPod {
  /** As it was written. */
  readonly pod: Pod;
  readonly path: ClaimPath;
  /** The boot of its daemon before the claim, if that is known. */
  readonly bootId: string | undefined;
}

export async function claimPod(deps: ClaimContext, wish: PodWish, span: Span): Promise<ClaimedPod> {
  for (let instead: Reservation | undefined; ;) {
    const reservation: Reservation = await span.span("wait", {}, () => turnOf(deps, wish, instead));
    const pod = reservation.pod.metadata.name ?? "";
    const claimed = await span.span("claim", { pod }, () => tryClaim(deps, wish, reservation));
    if (claimed !== undefined) return claimed;
    instead = reservation;
  }
}

/** `instead`: of what it had before, and found outdated. */
async function turnOf(deps: ClaimContext, wish: PodWish, instead: Reservation | undefined): Promise<Reservation> {
  const { pool, tenant, digest, time } = wish;
  // A pool that goes may still have idle pods, and whoever waited there would wait in vain.
  const known = deps.cache.pools.get(pool);
  if (known === undefined || known.metadata.deletionTimestamp !== undefined) {
    instead?.outdated();
    throw poolGone(pool);
  }
  const since = deps.clock.now();
  const request = { tenant, pools: [{ pool, digest }], signal: time.left, late: time.waited };
  const turn = await deps.queue.take(instead === undefined ? request : { ...request, instead });
  deps.meters.waited(pool, deps.clock.now() - since);
  if (turn.kind === "pod") return turn.reservation;
  throw refusalOf(deps, pool, turn, time);
}

function refusalOf(deps: ClaimContext, pool: PoolRef, turn: Exclude<Turn, { kind: "pod" }>, time: CreateTime): Error {
  if (turn.kind === "gone") return poolGone(pool);
  if (turn.kind === "canceled") return time.left.reason as Error;
  if (turn.kind === "stopped") return serverStops();
  const standing = standingOf(deps, pool);
  const details = { retryAfterSeconds: 1, pool: standing };
  if (turn.kind === "late") return new ServiceError("no_capacity", noneFree(pool, standing, time), details);
  const whose = turn.of === "tenant" ? "of this team" : "in all";
  return new ServiceError("queue_full", `too many requests ${whose} wait for a sandbox already`, details);
}

/** With what the pool has: whoever is told can see to that. */
function noneFree({ name }: PoolRef, { idle, starting, running, stopping, waiting }: PoolStanding, { waitMs }: CreateTime): string {
  const used = starting + running + stopping;
  return `no pod of pool ${name} became free within ${waitMs / 1000} s: ${used} of its ${idle + used} pods are in use, and ${waiting} more requests wait`;
}

function poolGone({ name }: PoolRef): ServiceError {
  return new ServiceError("not_found", `the pool ${JSON.stringify(name)} is being deleted`, { field: "from" });
}

function standingOf({ cache, queue }: ClaimContext, pool: PoolRef): PoolStanding {
  const { namespace, name } = pool;
  const count = (slot: PoolSlot): number => cache.pods.objects.count(podsByPoolAndSlot, slotValue({ namespace, pool: name, slot }));
  const [idle, starting, running, stopping] = [count("idle"), count("starting"), count("running"), count("stopping")];
  return { idle, starting, running, stopping, waiting: queue.waiting(pool) };
}

/** Undefined when the pod is outdated, and another may be had. In all other cases the reservation ends. */
async function tryClaim(deps: ClaimContext, wish: PodWish, reservation: Reservation): Promise<ClaimedPod | undefined> {
  const { pod } = reservation;
  const now = deps.clock.now();
  const claim = wish.claimAt(now);
  const plan = planClaim(pod, claim, now);
  if (plan.kind === "refused") return refused(deps, wish.pool, reservation, plan);
  // Only who knows the boot of the container that goes can tell the new one from it before the node reports it.
  const bootId = plan.path === "fast" ? deps.bootIds.of(pod) : await deps.bootIds.find(pod, wish.time.over);
  if (wish.time.over.aborted) {
    reservation.giveBack();
    throw wish.time.over.reason;
  }
  // Without a signal: what has been sent cannot be taken back, only be answered.
  const writing = writeClaim(deps, pod, plan);
  const written = await claimAnswer(deps, wish, { writing, reservation, sandboxId: claim.sandboxId });
  if (written === undefined) return undefined;
  return { pod: plan.isForPod ? await onItsPod(deps, written, plan, wish.time) : written, path: plan.path, bootId };
}

/** The pod as it was written; undefined when the race was lost. */
async function claimAnswer(deps: ClaimContext, wish: PodWish, doubtful: DoubtfulClaim): Promise<Pod | undefined> {
  const { writing, reservation, sandboxId } = doubtful;
  try {
    const written = await abortable(writing, wish.time.over);
    deps.meters.wrote(wish.pool, "won");
    return written;
  } catch (error) {
    if (isLostRace(error)) {
      deps.meters.wrote(wish.pool, "lost");
      return undefined;
    }
    if (isApiError(error, ...saidNo)) {
      deps.meters.wrote(wish.pool, "refused");
      reservation.giveBack();
      throw asServiceError(error);
    }
    deps.meters.wrote(wish.pool, "doubtful");
    deps.background.run(sandboxId, () => withdrawClaim(deps, doubtful));
    throw asServiceError(error);
  }
}

/** The claim is written; what the pod's node must see of it may have to follow. Whatever goes wrong then, the pod is given back. */
async function onItsPod(deps: ClaimContext, claimed: Pod, { change }: PlannedClaim, time: CreateTime): Promise<Pod> {
  if (!isClaimBeside(claimed)) return claimed;
  try {
    return await abortable(bringToPod(deps, claimed, change.images), time.over);
  } catch (error) {
    const sandboxId = sandboxIdOf(claimed) ?? "";
    deps.background.run(sandboxId, () => giveBack(deps, claimed, { sandboxId, stopReason: "Canceled" }));
    throw isLostRace(error) ? startFailed("its pod is gone, or was taken away again", error) : asServiceError(error);
  }
}

/** Answers after which nothing was written. After all others a write may have been done, or may yet be. */
const saidNo: readonly ApiErrorReason[] = [
  "BadRequest",
  "Unauthorized",
  "Forbidden",
  "MethodNotAllowed",
  "NotAcceptable",
  "RequestEntityTooLarge",
  "UnsupportedMediaType",
  "Invalid",
  "TooManyRequests",
];

/** Of these, another pod may not be one. */
const unfit: ReadonlySet<ClaimRefusal> = new Set(["terminating", "not-idle", "not-ready", "not-fresh"]);

function refused(
  deps: ClaimContext,
  pool: PoolRef,
  reservation: Reservation,
  { code, message }: { readonly code: ClaimRefusal; readonly message: string },
): undefined {
  deps.meters.wrote(pool, "unfit");
  if (unfit.has(code)) return undefined;
  reservation.giveBack();
  throw new ServiceError("invalid_request", message);
}
