/** Pods on which wishes for layers are written, where claims stand on the pods themselves. */
import type { WishedPods } from "#engines/kubernetes/checkpoints/ask-node.ts";
import { ApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { annotationKeys } from "#model/keys.ts";
import { Pods } from "#model/pod.ts";

export function storedPods(client: () => Pick<ObjectClient, "get" | "patch">): WishedPods {
  return {
    read: ({ namespace, name }, signal) => client().get(Pods, { namespace, name }, { signal }),
    annotate: async ({ uid, namespace, name }, wish) => {
      const { metadata } = await client().get(Pods, { namespace, name });
      if (metadata.uid !== uid) throw new ApiError("NotFound", "another pod");
      const body = { metadata: { annotations: { [annotationKeys.layerWish]: wish } } };
      await client().patch(Pods, { namespace, name }, { type: "merge", body });
    },
  };
}
