/** Changes the pod of a live sandbox with one conditional write, and decides anew when the pod has changed meanwhile. */
import { isLostRace } from "#kube/lost-race.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { type PodChange, podPatch } from "#sandbox/pod-patch.ts";
import { type CarriedDeps, currentPod, type Wanted } from "#services/inside/carried-pod.ts";
import { livePod } from "#services/reading/find-sandbox.ts";
import { asServiceError } from "#services/service-failure.ts";

export interface ChangeDeps extends CarriedDeps {
  readonly client: Pick<ObjectClient, "get" | "list" | "patch">;
}

/** A pod changes only a few times in its life, so so many lost races mean a different problem. */
const maxTries = 8;

/** `decide` gives undefined when the pod is as it should be, and may throw a ServiceError. Resolves with the pod as it is then. */
export async function changeSandbox(
  deps: ChangeDeps,
  wanted: Wanted,
  decide: (pod: Pod) => PodChange | undefined,
  signal?: AbortSignal,
): Promise<Pod> {
  let pod = await livePod(deps, wanted.caller, wanted.sandboxId, wanted.wish);
  let isServersWord = false;
  for (let attempt = 1; ; attempt++) {
    const change = decide(pod);
    // A write is refused where the cache was late; that nothing is to be written has to be asked.
    if (change === undefined && isServersWord) return pod;
    if (change !== undefined) {
      const changed = await written(deps, pod, change, { signal, isLast: attempt >= maxTries });
      if (changed !== undefined) return changed;
    }
    pod = await currentPod(deps, wanted, pod, signal);
    isServersWord = true;
  }
}

/** Undefined when the race was lost. */
async function written(
  deps: ChangeDeps,
  pod: Pod,
  change: PodChange,
  { signal, isLast }: { readonly signal: AbortSignal | undefined; readonly isLast: boolean },
): Promise<Pod | undefined> {
  try {
    const changed = await deps.client.patch(Pods, keyOf(pod), podPatch(pod, change), { signal });
    deps.cache.pods.remember(changed);
    return changed;
  } catch (error) {
    if (isLostRace(error) && !isLast) return undefined;
    throw asServiceError(error);
  }
}
