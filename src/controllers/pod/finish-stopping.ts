/**
 * What comes after a release: the record first, then the pod goes back to idle when all its containers are new, or is replaced when it
 * cannot or takes too long. Until the record is stored nothing of the pod changes (I3, W9).
 */
import type { Requeue } from "#kube/controller/work-queue.ts";
import { deletePodAsSeen } from "#lifecycle/delete-pod.ts";
import { patchPodAsSeen } from "#lifecycle/patch-pod.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import { isToBeReplaced } from "#sandbox/inplace-completion.ts";
import { phaseSince } from "#sandbox/phase.ts";
import { planRecycle } from "#sandbox/recycle-patch.ts";
import type { PodDeps } from "./pod-deps.ts";

export async function finishStopping(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<Requeue> {
  const record = await deps.recorder.record(pod);
  if (isToBeReplaced(pod)) return replace(deps, pod, signal);
  const plan = planRecycle(pod, { recorded: sandboxIdOf(pod) }, deps.clock.now());
  switch (plan.kind) {
    case "nothing":
      return undefined;
    case "replace":
      deps.log.warn({ sandboxId: sandboxIdOf(pod), pod: pod.metadata.name, why: plan.why }, "pod is replaced instead of recycled");
      return replace(deps, pod, signal);
    case "waiting":
      return waitOrReplace(deps, pod, plan.why, signal);
    case "patch":
      if ((await patchPodAsSeen(deps, pod, plan.patch, signal)) === undefined) return undefined;
      deps.observer.recycled(pod);
      deps.observer.exchanged(pod, { exchange: "stopping", result: "completed" });
      if (record !== undefined) deps.observer.ended(record);
      return undefined;
  }
}

async function waitOrReplace(deps: PodDeps, pod: Pod, why: string, signal: AbortSignal): Promise<Requeue> {
  const since = phaseSince(pod, "stopping");
  const left = since.kind === "in-phase" ? since.sinceMs + deps.recycleTimeoutMs - deps.clock.now() : 0;
  if (left > 0) return { afterMs: left, exact: true };
  deps.log.warn({ sandboxId: sandboxIdOf(pod), pod: pod.metadata.name, why }, "recycling takes too long; the pod is replaced");
  if (await deletePodAsSeen(deps, pod, signal)) deps.observer.exchanged(pod, { exchange: "stopping", result: "failed" });
  return undefined;
}

/** Only as seen: a pod that has become idle meanwhile may be somebody's. A lost race is told by the change that won it. */
async function replace(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<undefined> {
  await deletePodAsSeen(deps, pod, signal);
  return undefined;
}
