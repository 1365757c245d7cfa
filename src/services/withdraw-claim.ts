/**
 * Giving back what was taken, until it is done or this process ends. A process that dies before leaves a claimed pod whose daemon is not
 * armed, which the controller of timeouts finds.
 */
import { isApiError } from "#kube/api-error.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import { isLostRace } from "#kube/lost-race.ts";
import { abortable, ChildAbort } from "#lib/abortable.ts";
import { type Backoff, backoffMs } from "#lib/backoff.ts";
import { sleep } from "#lib/clock.ts";
import { releaseSandbox, type WantedRelease } from "#lifecycle/release-sandbox.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { Reservation } from "#scheduling/idle-pods.ts";
import type { ClaimContext } from "./claim-context.ts";

type WithdrawDeps = Pick<
  ClaimContext,
  "client" | "cache" | "clock" | "random" | "log" | "digests" | "publicKey" | "delivery" | "maxUses" | "abandoned"
>;

export interface DoubtfulClaim {
  /** The write whose answer nobody waited for, or that had none. */
  readonly writing: Promise<Pod>;
  readonly reservation: Reservation;
  readonly sandboxId: string;
}

const answerWithinMs = 30_000;
const again: Backoff = { baseMs: 50, maxMs: 5000, jitter: "equal" };

/** Finds out whether the claim was written, and if so gives the pod back. Nobody else is offered the pod before. */
export async function withdrawClaim(deps: WithdrawDeps, { writing, reservation, sandboxId }: DoubtfulClaim): Promise<void> {
  const answer = answered(deps, writing);
  const pod = await answer.catch((error: unknown) => (isLostRace(error) ? undefined : asked(deps, reservation.pod)));
  if (pod === undefined) {
    reservation.outdated();
    return;
  }
  if (sandboxIdOf(pod) === sandboxId) await giveBack(deps, pod, { sandboxId, stopReason: "Canceled" });
  reservation.giveBack();
}

/** The write's own answer, if it comes in time: a connection may hang for ever where nobody says that it is dead. */
async function answered({ clock, abandoned }: WithdrawDeps, writing: Promise<Pod>): Promise<Pod> {
  using late = new ChildAbort(abandoned);
  const timer = clock.after(answerWithinMs, () => late.abort(new Error("no answer to a claim")));
  try {
    return await abortable(writing, late.signal);
  } finally {
    timer.cancel();
  }
}

/** Releases the pod, however often that must be tried. */
export async function giveBack(deps: WithdrawDeps, pod: Pod, release: WantedRelease): Promise<void> {
  const { sandboxId } = release;
  await untilDone(deps, sandboxId, async () => {
    const outcome = await releaseSandbox(deps, pod, release, deps.abandoned);
    deps.log.info({ sandboxId, pod: pod.metadata.name, outcome: outcome.kind }, "sandbox given back");
  });
}

/** The pod by the server's word; undefined when it is gone, or when this process ends first. */
async function asked(deps: WithdrawDeps, pod: Pod): Promise<Pod | undefined> {
  return untilDone(deps, undefined, async () => {
    try {
      return await deps.cache.readPod(deps.client, keyOf(pod), deps.abandoned);
    } catch (error) {
      if (isApiError(error, "NotFound")) return undefined;
      throw error;
    }
  });
}

async function untilDone<T>(deps: WithdrawDeps, sandboxId: string | undefined, work: () => Promise<T>): Promise<T | undefined> {
  for (let failures = 1; !deps.abandoned.aborted; failures++) {
    try {
      return await work();
    } catch (error) {
      if (deps.abandoned.aborted) break;
      deps.log.warn({ sandboxId, error, failures }, "a pod could not be given back yet");
    }
    await sleep(deps.clock, backoffMs(again, failures, deps.random), deps.abandoned).catch(() => {});
  }
  return undefined;
}
