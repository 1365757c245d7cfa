/** The volumes of a pod: what it wishes, what is mounted, and the step between them (model/volume-mounts.ts). */
import { isDeepStrictEqual } from "node:util";
import { podConditionReasons } from "#model/keys.ts";
import { mountFailedMessage, mountRefusal, parseVolumeMounts, volumeWish } from "#model/volume-mounts.ts";
import type { PodVolumes } from "#engines/embedded/node/pod-runtime.ts";
import type { NodePod } from "../node-pod.ts";
import type { Move, Scene } from "./move.ts";
import type { Finding } from "./pod-conditions.ts";

type Seen = Pick<Scene, "pod" | "observed">;

/** Undefined for a pod without a wish, and for a wish that cannot be read: that one is answered by a failure. */
function wantedVolumes({ spec, ...pod }: NodePod): PodVolumes | undefined {
  const mounts = parseVolumeMounts(volumeWish(pod) ?? "");
  return mounts === undefined ? undefined : { container: spec.containers[0]?.name ?? "", mounts };
}

/** Comes before the steps of containers: one that is made now gets its volumes before its first program runs. A wish that failed is not tried again. */
export function volumesMove(scene: Scene): Move {
  const { pod, observed } = scene;
  const wish = volumeWish(pod);
  const volumes = wantedVolumes(pod);
  if (wish === undefined || volumes === undefined || observed.runtime === undefined) return { actions: [] };
  if (areMounted(scene) || failure(scene, wish) !== undefined) return { actions: [] };
  return { actions: [{ kind: "mount-volumes", wish, volumes }] };
}

function areMounted({ pod, observed: { runtime } }: Seen): boolean {
  return runtime?.volumes !== undefined && isDeepStrictEqual(runtime.volumes, wantedVolumes(pod));
}

/** What is told of it; nothing of a pod that wishes nothing. A wish that failed has its answer, also for another agent. */
export function volumesFinding(scene: Seen): Finding | undefined {
  const wish = volumeWish(scene.pod);
  if (wish === undefined) return undefined;
  const failed = wantedVolumes(scene.pod) === undefined ? "it cannot be read" : failure(scene, wish);
  if (failed !== undefined) return { status: "False", reason: podConditionReasons.mountFailed, message: mountFailedMessage(wish, failed) };
  const isSo = areMounted(scene);
  return { status: isSo ? "True" : "False", reason: isSo ? "Mounted" : "Pending", message: wish };
}

function failure({ pod, observed }: Seen, wish: string): string | undefined {
  const { mountFailed } = observed.memory;
  return mountFailed?.wish === wish ? mountFailed.message : mountRefusal(pod);
}
