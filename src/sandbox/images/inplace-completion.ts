/**
 * Whether an exchange of images is over. Each exchanged container must show all of it: the digest that was asked for, another
 * container than before, running, and ready (W6). The digest alone says nothing when old and new image are the same, the container id
 * alone nothing about what runs, and both alone nothing about a container that crashes in a loop.
 */
import { isResting, sandboxPhaseOf } from "#model/claimed-pod.ts";
import type { ContainerStatus, Pod } from "#model/pod.ts";
import { digestIn } from "./image-pin.ts";
import { type InplaceUpdateState, readInplaceUpdateState, targetImagesOf } from "./inplace-state.ts";

export type Completion =
  | { readonly kind: "completed"; readonly state: InplaceUpdateState }
  /** `why` is for people. */
  | { readonly kind: "waiting"; readonly why: string }
  /** Nothing is being exchanged: there is nothing to finish, and no hook to run (W14). */
  | { readonly kind: "no-update" };

export function completionOf(pod: Pod): Completion {
  const read = readInplaceUpdateState(pod);
  if (read.kind === "unreadable") return { kind: "waiting", why: read.why };
  if (read.kind === "none" || read.state.phase !== sandboxPhaseOf(pod)) return { kind: "no-update" };
  const { state } = read;
  const targets = Object.entries(targetImagesOf(state, pod));
  if (targets.length === 0) return { kind: "waiting", why: "no container is exchanged: the pod is to be replaced" };
  for (const [name, image] of targets) {
    const why = whyNotDone(pod, state, name, image);
    if (why !== undefined) return { kind: "waiting", why: `container ${name} ${why}` };
  }
  return { kind: "completed", state };
}

/** True for a pod that gets no new containers after its use, and so can only be deleted. */
export function isToBeDeleted(pod: Pod): boolean {
  if (sandboxPhaseOf(pod) !== "stopping" || isResting(pod)) return false;
  const read = readInplaceUpdateState(pod);
  return read.kind !== "state" || read.state.phase !== "stopping" || Object.keys(targetImagesOf(read.state, pod)).length === 0;
}

function whyNotDone(pod: Pod, state: InplaceUpdateState, name: string, image: string): string | undefined {
  const spec = pod.spec.containers.find((container) => container.name === name);
  if (spec?.image !== image) return `is to run ${spec?.image ?? "nothing"} by now, not ${image}`;
  const status = pod.status?.containerStatuses?.find((container) => container.name === name);
  if (status === undefined) return "is not reported by its node";
  return whyNotNew(status, state.lastContainerStatuses?.[name]?.containerID) ?? whyNotRunning(status, digestIn(image));
}

/** When the earlier container is not known, no container can be told from it: such a pod runs into its time limit and is replaced. */
function whyNotNew({ containerID }: ContainerStatus, before: string | undefined): string | undefined {
  if (before === undefined) return "cannot be told from the one before, whose id was not reported";
  if (containerID === undefined || containerID === "") return "has not been created";
  return containerID === before ? "is still the one before" : undefined;
}

function whyNotRunning({ imageID, state, ready }: ContainerStatus, digest: string | undefined): string | undefined {
  if (digest === undefined || digestIn(imageID) !== digest)
    return `runs ${imageID === "" ? "nothing" : imageID} and not ${digest ?? "a pinned image"}`;
  if (state?.running === undefined) return `is not running${state?.waiting?.reason === undefined ? "" : `: ${state.waiting.reason}`}`;
  return ready ? undefined : "is not ready";
}
