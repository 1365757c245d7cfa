/** The end of a pod, in its two steps: somebody deletes it in the state that was looked at, and whoever has kept what was to be kept lets go. */
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

/** False when the pod is no longer what it was: somebody was faster, which is an outcome and no error (I4). */
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
 * Lets go of a pod that is being deleted: what was to be kept of it has been. True for the one whose write it was. Only the uid and our
 * own finalizer are tested: a node that reports on a dying pod meanwhile changes nothing of that.
 */
export async function removeProtection({ client, cache }: ProtectionDeps, pod: Pod, signal?: AbortSignal): Promise<boolean> {
  if (!isHeld(pod)) return false;
  const { namespace, name = "" } = pod.metadata;
  try {
    cache.pods.remember(await client.patch(Pods, { namespace, name }, withoutProtection(pod), { signal }));
    return true;
  } catch (error) {
    // Gone, let go by somebody else, or with other finalizers than we saw: the next look decides anew.
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
