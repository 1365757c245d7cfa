/** Ends a pod in two steps: deletes it, conditional on the state that was seen; then removes our finalizer when everything worth keeping has been stored. */
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { Clock } from "#lib/clock.ts";
import { finalizers } from "#model/keys.ts";
import type { JsonPatch } from "#model/patch.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { type ClaimWriteDeps, closeToClaims } from "./claim/write-claim.ts";

export interface DeletePodDeps extends ClaimWriteDeps {
  readonly client: ObjectClient;
  readonly clock: Clock;
}

/** False if the pod has changed: another writer was faster, which is an outcome and no error (I4). */
export async function deletePodAsSeen(deps: DeletePodDeps, pod: Pod, signal?: AbortSignal): Promise<boolean> {
  const { namespace, name = "", uid, resourceVersion } = pod.metadata;
  try {
    if (!(await closeToClaims(deps, pod, signal))) return false;
    await deps.client.delete(Pods, { namespace, name }, { preconditions: { uid, resourceVersion }, signal });
    return true;
  } catch (error) {
    if (isLostRace(error)) return false;
    throw error;
  }
}

export interface ProtectionDeps {
  readonly client: ObjectClient;
  readonly cache: Pick<SandboxCache, "pods">;
}

export function isHeld(pod: Pod): boolean {
  return (pod.metadata.finalizers ?? []).includes(finalizers.sandboxProtection);
}

/**
 * Removes our finalizer from a pod that is being deleted, after its record has been stored. True if this call's write did it. The write tests only the uid
 * and our own finalizer, so reports of the node about a dying pod do not disturb it.
 */
export async function removeProtection({ client, cache }: ProtectionDeps, pod: Pod, signal?: AbortSignal): Promise<boolean> {
  if (!isHeld(pod)) return false;
  const { namespace, name = "" } = pod.metadata;
  try {
    cache.pods.remember(await client.patch(Pods, { namespace, name }, withoutProtection(pod), { signal }));
    return true;
  } catch (error) {
    // The pod is gone, or its finalizers changed: the next reconcile decides anew.
    if (isLostRace(error)) return false;
    throw error;
  }
}

function withoutProtection({ metadata: { uid = "", finalizers: held = [] } }: Pod): JsonPatch {
  const path = `/metadata/finalizers/${held.indexOf(finalizers.sandboxProtection)}`;
  return {
    type: "json",
    operations: [
      { op: "test", path: "/metadata/uid", value: uid },
      { op: "test", path, value: finalizers.sandboxProtection },
      { op: "remove", path },
    ],
  };
}
