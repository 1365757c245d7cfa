/** Wishes for layers, written on pods. A claim that stands on a Lease is written with the wish: what a node does is decided by the pod alone. */
import type { WishedPods } from "#engines/kubernetes/checkpoints/ask-node.ts";
import { ApiError } from "#kube/api-error.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { annotationKeys } from "#model/keys.ts";
import { Pods } from "#model/pod.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { type PodChange, podPatch } from "#sandbox/pod-patch.ts";

const writeTries = 10;

export interface WishedPodsDeps {
  readonly client: Pick<ObjectClient, "get" | "patch">;
  readonly cache: Pick<SandboxCache, "readPod" | "pods">;
}

export function wishedPods({ client, cache }: WishedPodsDeps): WishedPods {
  return {
    read: ({ namespace, name }, signal) => cache.readPod(client, { namespace, name }, signal),
    annotate: async ({ uid, namespace, name }, wish) => {
      for (let tries = 1; ; tries++) {
        const pod = await cache.readPod(client, { namespace, name });
        if (pod.metadata.uid !== uid) throw new ApiError("NotFound", `pod ${name} is another one by now`);
        try {
          cache.pods.remember(await client.patch(Pods, { namespace, name }, podPatch(pod, changeOf(wish))));
          return;
        } catch (error) {
          // Another write was first, such as that of its traffic.
          if (!isLostRace(error) || tries === writeTries) throw error;
        }
      }
    },
  };
}

function changeOf(wish: string | null): PodChange {
  return wish === null ? { removeAnnotations: [annotationKeys.layerWish] } : { annotations: { [annotationKeys.layerWish]: wish } };
}
