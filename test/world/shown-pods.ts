/** Pods with their claims, wherever these stand, by the server's own word. */
import { isApiError } from "#kube/api-error.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import type { ObjectClient, ObjectKey } from "#kube/object-client.ts";
import { podWithClaim } from "#engines/kubernetes/claims/claim-lease.ts";
import { Leases } from "#model/core-kinds.ts";
import { type Pod, Pods } from "#model/pod.ts";

export async function shownPod(client: ObjectClient, key: ObjectKey): Promise<Pod> {
  const pod = await client.get(Pods, key);
  try {
    return podWithClaim(pod, await client.get(Leases, key));
  } catch (error) {
    if (isApiError(error, "NotFound")) return pod;
    throw error;
  }
}

export async function shownPods(client: ObjectClient, namespace: string): Promise<readonly Pod[]> {
  const pods = await client.list(Pods, { namespace });
  const leases = await client.list(Leases, { namespace });
  const byName = new Map(leases.items.map((lease) => [lease.metadata.name, lease]));
  return pods.items.map((pod) => podWithClaim(pod, byName.get(keyOf(pod).name)));
}
