/** The end of a start on the slow path: running as soon as every exchanged container proves to be the new one. */
import { patchPodAsSeen } from "#life/patch-pod.ts";
import type { Pod } from "#model/pod.ts";
import { planFinishStart } from "./plan-started.ts";
import type { PodDeps } from "#life/pod-deps.ts";

/** A sandbox that does not get there is ended by its startup timeout (life/end/reconcile-timeouts.ts). */
export async function finishStart(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<void> {
  const plan = planFinishStart(pod, deps.clock.now());
  if (plan.kind !== "patch") return;
  const running = await patchPodAsSeen(deps, pod, plan.patch, signal);
  if (running === undefined) return;
  deps.observer.started(running);
  deps.observer.exchanged(running, { exchange: "starting", result: "completed" });
}
