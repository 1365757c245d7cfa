/**
 * Ends what a create has claimed and cannot use, and tries until the end is written or this process ends. A process that dies before leaves
 * a claimed pod whose daemon is not armed: the loop of timeouts finds it.
 */
import { ifFound } from "#kube/api-error.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import { isLostRace } from "#kube/lost-race.ts";
import { abortable, ChildAbort } from "#lib/abortable.ts";
import { type Backoff, backoffMs, type Random } from "#lib/backoff.ts";
import { sleep } from "#lib/clock.ts";
import { type EndDeps, endSandbox, type WantedEnd } from "#life/end/write-end.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { Reservation } from "#scheduling/idle-pods.ts";

export interface EndClaimedDeps extends EndDeps {
  readonly random: Random;
  /** Aborted when this process leaves what it has claimed to the next one. */
  readonly abandoned: AbortSignal;
}

export interface DoubtfulClaim {
  /** The write that had no answer, or no answer in time. */
  readonly writing: Promise<Pod>;
  readonly reservation: Reservation;
  readonly sandboxId: string;
}

const answerWithinMs = 30_000;
const again: Backoff = { baseMs: 50, maxMs: 5000, jitter: "equal" };

/** Finds out whether the claim was written, and if so ends the sandbox. The pod stays reserved until then. */
export async function endDoubtfulClaim(deps: EndClaimedDeps, { writing, reservation, sandboxId }: DoubtfulClaim): Promise<void> {
  const answer = answered(deps, writing);
  const pod = await answer.catch((error: unknown) => (isLostRace(error) ? undefined : podByServer(deps, reservation.pod)));
  if (pod === undefined) {
    reservation.outdated();
    return;
  }
  if (sandboxIdOf(pod) === sandboxId) await endClaimed(deps, pod, { sandboxId, stopReason: "Canceled" });
  reservation.cancel();
}

/** Ends the sandbox, however often that must be tried. */
export async function endClaimed(deps: EndClaimedDeps, pod: Pod, end: WantedEnd): Promise<void> {
  const { sandboxId } = end;
  await untilDone(deps, sandboxId, async () => {
    const outcome = await endSandbox(deps, pod, end, deps.abandoned);
    deps.log.info({ sandboxId, pod: pod.metadata.name, outcome: outcome.kind }, "a sandbox that cannot be used was ended");
  });
}

/** The write's own answer, if it comes in time: a connection may hang for ever if nothing reports that it is dead. */
async function answered({ clock, abandoned }: EndClaimedDeps, writing: Promise<Pod>): Promise<Pod> {
  using late = new ChildAbort(abandoned);
  const timer = clock.after(answerWithinMs, () => late.abort(new Error("no answer to a claim")));
  try {
    return await abortable(writing, late.signal);
  } finally {
    timer.cancel();
  }
}

/** The pod by the server's word; undefined when it is gone, or when this process ends first. */
async function podByServer(deps: EndClaimedDeps, pod: Pod): Promise<Pod | undefined> {
  return untilDone(deps, undefined, () => ifFound(deps.cache.readPod(deps.client, keyOf(pod), deps.abandoned)));
}

async function untilDone<T>(deps: EndClaimedDeps, sandboxId: string | undefined, work: () => Promise<T>): Promise<T | undefined> {
  for (let failures = 1; !deps.abandoned.aborted; failures++) {
    try {
      return await work();
    } catch (error) {
      if (deps.abandoned.aborted) break;
      deps.log.warn({ sandboxId, error, failures }, "a sandbox that cannot be used could not be ended yet");
    }
    await sleep(deps.clock, backoffMs(again, failures, deps.random), deps.abandoned).catch(() => {});
  }
  return undefined;
}
