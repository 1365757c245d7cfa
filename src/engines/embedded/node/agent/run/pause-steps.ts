/** Pausing a pod and letting it go on. */
import { podConditionReasons } from "#model/keys.ts";
import type { PodActionDeps, PodAtWork } from "./pod-actions.ts";
import { messageOf } from "./retry-delay.ts";

/** Freezes for a wish; without one, thaws. A freeze that fails is the answer to its wish; a thaw that fails is tried again. */
export async function setFrozen(deps: PodActionDeps, { pod, memory, tell }: PodAtWork, wish: string | undefined): Promise<void> {
  const { uid } = pod.metadata;
  if (wish === undefined) return deps.runtime.thawPod(uid);
  // A question that is under way would be answered by silence.
  deps.prober.forget(uid);
  try {
    await deps.runtime.freezePod(uid);
  } catch (error) {
    const message = messageOf(error);
    memory.freezeFailed = { wish, message };
    tell({ type: "Warning", reason: podConditionReasons.freezeFailed, message: `The pod cannot be paused: ${message}` });
  }
}
