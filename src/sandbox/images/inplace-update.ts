/**
 * Begins an exchange of images in a live pod. One patch names the new images, stores the old container ids (so that their end can be proven) and moves the
 * pod to the phase of the exchange. It is not retried here: the patch applies only to the state that was seen, and after a lost race the caller decides
 * anew.
 */
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys, type InplaceUpdatePhase, type SandboxPhase } from "#model/keys.ts";
import type { JsonPatch } from "#model/patch.ts";
import type { ContainerStatus, Pod } from "#model/pod.ts";
import { formatTime } from "#sandbox/annotation-values.ts";
import type { ContainerImages } from "./images.ts";
import { type InplaceUpdateContainerStatus, type InplaceUpdateState, serializeInplaceUpdateState } from "./inplace-state.ts";
import { mayFollow } from "#sandbox/phase.ts";
import { type PodChange, podPatch } from "#sandbox/pod-patch.ts";

export interface UpdateOptions {
  /** Container name to image, of the containers that are exchanged. */
  readonly containerImages: ContainerImages;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly removeLabels?: readonly string[];
  readonly removeAnnotations?: readonly string[];
  /** Phase of the pod when the exchange is done. */
  readonly targetPodPhase: SandboxPhase;
  /** Phase of the pod until then. */
  readonly updatePodPhase: Exclude<InplaceUpdatePhase, "completed">;
  /** The phase in which the pod must be now; any when left out. */
  readonly expectedPhase?: SandboxPhase;
}

export const updateRefusals = ["no-containers", "container-not-found", "unexpected-pod-phase", "target-image-required"] as const;
export type UpdateRefusal = (typeof updateRefusals)[number];

export type UpdatePlan =
  | { readonly kind: "patch"; readonly change: PodChange; readonly patch: JsonPatch; readonly state: InplaceUpdateState }
  | { readonly kind: "refused"; readonly code: UpdateRefusal; readonly message: string };

export function triggerUpdate(pod: Pod, options: UpdateOptions, now: number): UpdatePlan {
  const refusal = refusalOf(pod, options);
  if (refusal !== undefined) return refusal;
  const { containerImages, labels, annotations, removeLabels, removeAnnotations, updatePodPhase } = options;
  const state = begunUpdate(pod, options, now);
  const change: PodChange = {
    phase: updatePodPhase,
    labels: labels ?? {},
    annotations: { ...annotations, [annotationKeys.inplaceUpdateState]: serializeInplaceUpdateState(state) },
    removeLabels: removeLabels ?? [],
    removeAnnotations: removeAnnotations ?? [],
    images: containerImages,
  };
  return { kind: "patch", change, patch: podPatch(pod, change), state };
}

/** What is written down when containers begin to be exchanged. */
export function begunUpdate(
  pod: Pod,
  { containerImages, targetPodPhase, updatePodPhase }: Pick<UpdateOptions, "containerImages" | "targetPodPhase" | "updatePodPhase">,
  now: number,
): InplaceUpdateState {
  return {
    phase: updatePodPhase,
    targetImages: containerImages,
    targetPodPhase,
    updateTimestamp: formatTime(now),
    lastContainerStatuses: lastStatuses(pod, Object.keys(containerImages)),
  };
}

function refusalOf(pod: Pod, options: UpdateOptions): UpdatePlan | undefined {
  return wrongPhase(pod, options) ?? wrongImages(pod, options);
}

function wrongPhase(pod: Pod, { expectedPhase, updatePodPhase }: UpdateOptions): UpdatePlan | undefined {
  const phase = sandboxPhaseOf(pod);
  if (expectedPhase !== undefined && phase !== expectedPhase) {
    return refused("unexpected-pod-phase", `the pod is ${phase ?? "in no phase"}, not ${expectedPhase}`);
  }
  if (phase !== undefined && mayFollow(phase, updatePodPhase)) return undefined;
  return refused("unexpected-pod-phase", `the pod is ${phase ?? "in no phase"}, from where it cannot be ${updatePodPhase}`);
}

function wrongImages(pod: Pod, { containerImages }: UpdateOptions): UpdatePlan | undefined {
  const names = pod.spec.containers.map(({ name }) => name);
  if (names.length === 0) return refused("no-containers", "the pod has no containers");
  const entries = Object.entries(containerImages);
  const unknown = entries.find(([name]) => !names.includes(name));
  if (unknown !== undefined) return refused("container-not-found", `the pod has no container "${unknown[0]}"; it has ${names.join(", ")}`);
  if (entries.length === 0) return refused("target-image-required", "no container was given an image");
  const blank = entries.find(([, image]) => image.trim() === "");
  return blank === undefined ? undefined : refused("target-image-required", `container "${blank[0]}" was given no image`);
}

function lastStatuses(pod: Pod, containers: readonly string[]): Readonly<Record<string, InplaceUpdateContainerStatus>> {
  const statuses = (pod.status?.containerStatuses ?? []).filter(({ name }) => containers.includes(name));
  return Object.fromEntries(statuses.map((status) => [status.name, lastStatus(status)]));
}

function lastStatus({ imageID, containerID }: ContainerStatus): InplaceUpdateContainerStatus {
  return { ...(imageID === "" ? {} : { imageID }), ...(containerID === undefined || containerID === "" ? {} : { containerID }) };
}

function refused(code: UpdateRefusal, message: string): Extract<UpdatePlan, { kind: "refused" }> {
  return { kind: "refused", code, message };
}
