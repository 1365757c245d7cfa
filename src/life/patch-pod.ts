import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { JsonPatch } from "#model/patch.ts";
import { type Pod, Pods } from "#model/pod.ts";

export interface PatchPodDeps {
  readonly client: ObjectClient;
  readonly cache: Pick<SandboxCache, "pods">;
}

/**
 * Sends the planned patch for exactly this state of the pod, and passes the answer to the cache. Undefined if the pod has changed or is gone: then nothing
 * was written, and that change triggers the next reconcile.
 */
export async function patchPodAsSeen(deps: PatchPodDeps, pod: Pod, patch: JsonPatch, signal?: AbortSignal): Promise<Pod | undefined> {
  const { namespace, name = "" } = pod.metadata;
  try {
    const written = await deps.client.patch(Pods, { namespace, name }, patch, { signal });
    deps.cache.pods.remember(written);
    return written;
  } catch (error) {
    if (isLostRace(error)) return undefined;
    throw error;
  }
}
