/**
 * The steps after an end: write the record, then make the pod idle if all its containers are new, or delete it if that is impossible or takes too long.
 * Until the record is stored, nothing on the pod changes (I3, W9).
 *
 * The node's report does not prove that a container is new: one that was restarted just before the end has another id than the end recorded, but may have
 * been armed for the last user. So the daemon has the last word: only an unarmed daemon is in a container that no sandbox has used (I2).
 */
import type { Requeue } from "#kube/controller/work-queue.ts";
import { askServedSandbox } from "#life/arm/ask-daemon.ts";
import { deletePodAsSeen } from "#life/delete-pod.ts";
import { patchPodAsSeen } from "#life/patch-pod.ts";
import { isResting, sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import { isToBeDeleted } from "#sandbox/images/inplace-completion.ts";
import { phaseDuration } from "#sandbox/phase.ts";
import { planRecycle } from "./plan-recycle.ts";
import type { PodDeps } from "#life/pod-deps.ts";

export async function finishStopping(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<Requeue> {
  const record = await deps.recorder.record(pod);
  // It takes as long as its node has no time for it; `life/recycle/recycle-loop.ts` begins the exchange that has a time limit.
  if (isResting(pod)) {
    await deps.logs?.keep(pod);
    return undefined;
  }
  if (isToBeDeleted(pod)) return replace(deps, pod, signal);
  const plan = planRecycle(pod, { recorded: sandboxIdOf(pod) }, deps.clock.now());
  switch (plan.kind) {
    case "nothing":
      return undefined;
    case "delete":
      deps.log.warn({ sandboxId: sandboxIdOf(pod), pod: pod.metadata.name, why: plan.why }, "pod is replaced instead of recycled");
      return replace(deps, pod, signal);
    case "waiting":
      return waitOrDelete(deps, pod, { why: plan.why, askAgain: false }, signal);
    case "patch": {
      const why = await reasonPodIsStillOwned(deps, pod, signal);
      if (why !== undefined) return waitOrDelete(deps, pod, { why, askAgain: true }, signal);
      await deps.logs?.keep(pod);
      if ((await patchPodAsSeen(deps, pod, plan.patch, signal)) === undefined) return undefined;
      deps.observer.recycled(pod);
      deps.observer.exchanged(pod, { exchange: "stopping", result: "completed" });
      if (record !== undefined) deps.observer.ended(record);
      return undefined;
    }
  }
}

async function reasonPodIsStillOwned(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<string | undefined> {
  const served = await askServedSandbox(deps, pod, signal);
  if (served === undefined) return "its daemon does not answer";
  return served === "" ? undefined : "its daemon still works for a sandbox";
}

interface Wait {
  readonly why: string;
  /** No event announces that a daemon begins to answer. */
  readonly askAgain: boolean;
}

async function waitOrDelete(deps: PodDeps, pod: Pod, { why, askAgain }: Wait, signal: AbortSignal): Promise<Requeue> {
  const took = phaseDuration(pod, "stopping", deps.clock.now());
  const left = took.kind === "in-phase" ? deps.recycleTimeoutMs - took.ms : 0;
  if (left > 0) return { afterMs: askAgain ? Math.min(left, pauseMs(deps.recycleTimeoutMs - left)) : left, exact: true };
  deps.log.warn({ sandboxId: sandboxIdOf(pod), pod: pod.metadata.name, why }, "recycling takes too long; the pod is replaced");
  if (await deletePodAsSeen(deps, pod, signal)) deps.observer.exchanged(pod, { exchange: "stopping", result: "failed" });
  return undefined;
}

/** The longer it takes the more seldom it is asked; after a start of ours, too. */
function pauseMs(tookMs: number): number {
  return Math.min(5_000, Math.max(100, tookMs / 4));
}

/**
 * Conditional on the state that was seen: a pod that became idle meanwhile may be claimed. If the race is lost, the winning change triggers the next
 * reconcile.
 */
async function replace(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<undefined> {
  await deps.logs?.keep(pod);
  await deletePodAsSeen(deps, pod, signal);
  return undefined;
}
