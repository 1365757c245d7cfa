import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { JsonObject } from "#model/meta.ts";
import { type Pod, Pods } from "#model/pod.ts";
import type { PodStatus } from "#model/pod.ts";
import { statusPatch } from "../plan/same-status.ts";
import type { NodePod } from "../node-pod.ts";

/** Stores the status if anything of it has changed. Undefined when nothing was written: nothing new, or the pod is gone. */
export async function writeStatus(
  client: ObjectClient,
  { metadata, status: stored }: NodePod,
  wanted: PodStatus,
): Promise<Pod | undefined> {
  const { namespace, name, uid } = metadata;
  const status = statusPatch(wanted, stored) as JsonObject; // A status is JSON.
  if (Object.keys(status).length === 0) return undefined;
  try {
    // The uid keeps the report from a pod of the same name that came after this one.
    return await client.patch(Pods, { namespace, name }, { type: "merge", body: { metadata: { uid }, status } }, { subresource: "status" });
  } catch (error) {
    if (isApiError(error, "NotFound", "Conflict")) return undefined;
    throw error;
  }
}
