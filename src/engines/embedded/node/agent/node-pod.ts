import type { StoredPod } from "#engines/embedded/stored-pod.ts";
import type { ObjectMeta } from "#model/meta.ts";
import type { Pod } from "#model/pod.ts";

/** A pod that the server has named. What a pod may say and a node cannot do is in plan/unsupported.ts. */
export interface NodePod extends StoredPod {
  readonly metadata: ObjectMeta & { readonly name: string; readonly namespace: string; readonly uid: string };
}

/** What comes from the store has been through its rules, so it has this shape; nothing else reaches a node. */
export function nodePod(pod: Pod): NodePod {
  return pod as unknown as NodePod;
}
