/**
 * One try for one pod that the queue has offered: the plan, one conditional write and, where the pod's node must see the claim, the write
 * that brings it to the pod. A write that came too late is an outcome: the request goes on to the next pod at once (W5).
 */
import { isApiError, type ApiErrorReason } from "#kube/api-error.ts";
import { isLostRace } from "#kube/lost-race.ts";
import { abortable } from "#lib/abortable.ts";
import { isClaimElsewhere } from "#model/shown-pod.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { Reservation } from "#scheduling/idle-pods.ts";
import type { PoolRef } from "#scheduling/pool-ref.ts";
import { type EndClaimedDeps, endClaimed, endDoubtfulClaim } from "./end-doubtful-claim.ts";
import { type Claim, type ClaimRefusal, planClaim } from "./plan-claim.ts";
import { bringToPod, type PlannedClaim, writeClaim } from "./write-claim.ts";

export interface ClaimDeps extends EndClaimedDeps {
  readonly bootIds: { of(pod: Pod): string | undefined; find(pod: Pod, signal: AbortSignal): Promise<string | undefined> };
  readonly meters: { wrote(pool: PoolRef, outcome: ClaimWrite): void };
  /** For what goes on after the caller has its answer. */
  readonly background: { run(sandboxId: string, work: () => Promise<void>): void };
}

/** `doubtful`: the server did not say whether the write was done. */
export type ClaimWrite = "won" | "lost" | "unfit" | "refused" | "doubtful";

/** `fast`: the pod waits on the wanted images. `slow`: they are exchanged first. */
export type ClaimPath = "fast" | "slow";

export interface ClaimedPod {
  /** As it was written. */
  readonly pod: Pod;
  /** The pool that offered it. */
  readonly pool: PoolRef;
  readonly path: ClaimPath;
  /** The boot of its daemon before the claim, if that is known. */
  readonly bootId: string | undefined;
}

export type ClaimOutcome =
  | { readonly kind: "claimed"; readonly claimed: ClaimedPod }
  /** The pod is not as it was offered, and nothing was written. The reservation is still held: the request's next turn ends it. */
  | { readonly kind: "outdated" }
  /** The claim was written, but its pod is gone or was taken away again. */
  | { readonly kind: "pod-gone"; readonly why: string; readonly cause: unknown }
  /** No pod of this pool will do. */
  | { readonly kind: "refused"; readonly message: string };

export interface ClaimWish {
  /** What is written onto the pod, if it is written now. */
  readonly claimAt: (now: number) => Claim;
  /** Aborted when the create may not go on. */
  readonly over: AbortSignal;
}

/** The reservation ends with every outcome but `outdated`. Throws ApiError, or the signal's reason. */
export async function claimPod(deps: ClaimDeps, reservation: Reservation, { claimAt, over }: ClaimWish): Promise<ClaimOutcome> {
  const { pod, pool } = reservation;
  const now = deps.clock.now();
  const claim = claimAt(now);
  const plan = planClaim(pod, claim, now);
  if (plan.kind === "refused") return refused(deps, reservation, plan);
  // Only the boot of the old container tells the new container from it before the node reports the exchange.
  const bootId = plan.path === "fast" ? deps.bootIds.of(pod) : await deps.bootIds.find(pod, over);
  if (over.aborted) {
    reservation.cancel();
    throw over.reason;
  }
  const written = await sendClaim(deps, { reservation, plan, sandboxId: claim.sandboxId, over });
  if (written === undefined) return { kind: "outdated" };
  const claimed: ClaimedPod = { pod: written, pool, path: plan.path, bootId };
  return plan.isForPod && isClaimElsewhere(written) ? onItsPod(deps, claimed, plan, over) : { kind: "claimed", claimed };
}

/** Another pod may pass these checks, so the next one is tried. */
const unfit: ReadonlySet<ClaimRefusal> = new Set(["terminating", "not-idle", "not-ready", "not-fresh"]);

interface Refusal {
  readonly code: ClaimRefusal;
  readonly message: string;
}

function refused({ meters }: ClaimDeps, reservation: Reservation, { code, message }: Refusal): ClaimOutcome {
  meters.wrote(reservation.pool, "unfit");
  if (unfit.has(code)) return { kind: "outdated" };
  reservation.cancel();
  return { kind: "refused", message };
}

interface ClaimToSend {
  readonly reservation: Reservation;
  readonly plan: PlannedClaim;
  readonly sandboxId: string;
  readonly over: AbortSignal;
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

/** The pod as it was written; undefined when the race was lost. */
async function sendClaim(deps: ClaimDeps, { reservation, plan, sandboxId, over }: ClaimToSend): Promise<Pod | undefined> {
  const { pool, pod } = reservation;
  // Without a signal: what has been sent cannot be taken back, only be answered.
  const writing = writeClaim(deps, pod, plan);
  try {
    const written = await abortable(writing, over);
    deps.meters.wrote(pool, "won");
    return written;
  } catch (error) {
    if (isLostRace(error)) {
      deps.meters.wrote(pool, "lost");
      return undefined;
    }
    if (isApiError(error, ...saidNo)) {
      deps.meters.wrote(pool, "refused");
      reservation.cancel();
      throw error;
    }
    deps.meters.wrote(pool, "doubtful");
    deps.background.run(sandboxId, () => endDoubtfulClaim(deps, { writing, reservation, sandboxId }));
    throw error;
  }
}

/** The claim is written, and the pod's node must see it. If that fails, the sandbox ends and its pod goes back to the pool. */
async function onItsPod(deps: ClaimDeps, claimed: ClaimedPod, { change }: PlannedClaim, over: AbortSignal): Promise<ClaimOutcome> {
  try {
    const pod = await abortable(bringToPod(deps, claimed.pod, change.images), over);
    return { kind: "claimed", claimed: { ...claimed, pod } };
  } catch (error) {
    const sandboxId = sandboxIdOf(claimed.pod) ?? "";
    deps.background.run(sandboxId, () => endClaimed(deps, claimed.pod, { sandboxId, stopReason: "Canceled" }));
    if (isLostRace(error)) return { kind: "pod-gone", why: "its pod is gone, or was taken away again", cause: error };
    throw error;
  }
}
