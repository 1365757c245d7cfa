/**
 * Ending a sandbox: one conditional write that says how it ended and sends the pod back to its waiting images. The id and all that
 * history needs stay on the pod until the record is written; what could still act for the sandbox (timeouts, pause, hooks) goes.
 */
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { resumedFrom } from "#model/deep-pause.ts";
import { annotationKeys, type SandboxPhase, type SandboxStopReason } from "#model/keys.ts";
import type { JsonPatch } from "#model/patch.ts";
import type { Pod } from "#model/pod.ts";
import { formatTime } from "#sandbox/annotation-values.ts";
import { type InplaceUpdateState, serializeInplaceUpdateState } from "#sandbox/images/inplace-state.ts";
import { triggerUpdate, type UpdateRefusal } from "#sandbox/images/inplace-update.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import type { Fate } from "#life/recycle/plan-fate.ts";
import { specImages } from "#sandbox/sandbox-base.ts";

export interface SandboxEnd {
  /** The sandbox that is to end. A pod that carries another one by now is not touched. */
  readonly sandboxId: string;
  /** Left out: Completed for a sandbox that was running, Canceled for one that was not. */
  readonly stopReason?: SandboxStopReason;
  readonly terminatedAtMs?: number;
  readonly failureReason?: string;
  readonly failureMessage?: string;
  readonly exitCode?: number;
  /** Decided on the same pod. */
  readonly fate: Fate;
  /** A pod that is recycled gets its new containers later, when its node has time (`life/recycle/plan-recycle-start.ts`). */
  readonly rests?: boolean;
  /** The checkpoint that has the sandbox from now on: it does not end, it only leaves the pod. */
  readonly deepPaused?: string;
  /** Only if the pod is in this phase. */
  readonly expectedPhase?: "starting" | "running";
}

export type EndRefusal = UpdateRefusal | "other-sandbox";

export type EndPlan =
  | { readonly kind: "patch"; readonly patch: JsonPatch }
  /** The sandbox has ended already. No write is needed, and the caller's wish is fulfilled (W1). */
  | { readonly kind: "already-ended" }
  | { readonly kind: "refused"; readonly code: EndRefusal; readonly message: string };

/** An API server bounds all annotations of a pod together; a container's last words are not worth more. */
const maxMessageLength = 2048;

const operationalKeys: readonly string[] = [
  annotationKeys.idleTimeout,
  annotationKeys.startupTimeout,
  annotationKeys.endTime,
  annotationKeys.onTimeout,
  annotationKeys.lastActive,
  annotationKeys.paused,
  annotationKeys.pauseDeep,
  annotationKeys.deepPauseFailure,
  annotationKeys.layerWish,
  annotationKeys.postStartHooks,
  annotationKeys.chosenToGo,
  annotationKeys.sandboxStatusDetail,
];

export function planEnd(pod: Pod, end: SandboxEnd, now: number): EndPlan {
  const phase = sandboxPhaseOf(pod);
  if (sandboxIdOf(pod) !== end.sandboxId) return refused("other-sandbox", `the pod does not carry sandbox ${end.sandboxId}`);
  if (phase === "stopping") return { kind: "already-ended" };
  if (phase !== "starting" && phase !== "running") return unexpected(phase, "starting or running");
  if (end.expectedPhase !== undefined && phase !== end.expectedPhase) return unexpected(phase, end.expectedPhase);
  const annotations = stopAnnotations(pod, phase, end, now);
  if (end.fate.kind === "delete") return deleted(pod, annotations, now);
  return end.rests === true ? rested(pod, annotations, now) : recycled(pod, end.fate.images, annotations, now);
}

function recycled(pod: Pod, containerImages: Readonly<Record<string, string>>, annotations: Annotations, now: number): EndPlan {
  const plan = triggerUpdate(
    pod,
    { containerImages, annotations, removeAnnotations: operationalKeys, targetPodPhase: "idle", updatePodPhase: "stopping" },
    now,
  );
  return plan.kind === "patch" ? { kind: "patch", patch: plan.patch } : plan;
}

/** Like a replacement, with a mark that the pod rests: a version that does not know the mark replaces the pod, which is slower but as safe. */
function rested(pod: Pod, annotations: Annotations, now: number): EndPlan {
  return deleted(pod, { ...annotations, [annotationKeys.restsSince]: formatTime(now) }, now);
}

/** No images: the state without targets says to every controller that this pod only waits for its record, and then is deleted. */
function deleted(pod: Pod, annotations: Annotations, now: number): EndPlan {
  const state: InplaceUpdateState = { phase: "stopping", targetImages: {}, targetPodPhase: "idle", updateTimestamp: formatTime(now) };
  const patch = podPatch(pod, {
    phase: "stopping",
    annotations: { ...annotations, [annotationKeys.inplaceUpdateState]: serializeInplaceUpdateState(state) },
    removeAnnotations: operationalKeys,
  });
  return { kind: "patch", patch };
}

type Annotations = Readonly<Record<string, string>>;

function stopAnnotations(pod: Pod, phase: "starting" | "running", end: SandboxEnd, now: number): Annotations {
  const { failureReason, failureMessage, exitCode } = end;
  const containerId = pod.status?.containerStatuses?.find(({ name }) => name === pod.spec.containers[0]?.name)?.containerID;
  return {
    [annotationKeys.stopReason]: end.stopReason ?? (phase === "running" ? "Completed" : "Canceled"),
    [annotationKeys.terminatedAt]: formatTime(end.terminatedAtMs ?? now),
    ...(failureReason === undefined ? {} : { [annotationKeys.failureReason]: failureReason }),
    ...(failureMessage === undefined ? {} : { [annotationKeys.failureMessage]: failureMessage.slice(0, maxMessageLength) }),
    ...(exitCode === undefined ? {} : { [annotationKeys.exitCode]: String(exitCode) }),
    [annotationKeys.runningImages]: JSON.stringify(specImages(pod)),
    ...(containerId === undefined || containerId === "" ? {} : { [annotationKeys.containerId]: containerId }),
    ...deepPausedIn(pod, end),
  };
}

/** A sandbox that did not get through its resume is in its checkpoint as before. Only its owner ends it, who gives no reason. */
function deepPausedIn(pod: Pod, { deepPaused, stopReason }: SandboxEnd): Annotations {
  const checkpoint = deepPaused ?? (stopReason === undefined ? undefined : resumedFrom(pod));
  return checkpoint === undefined ? {} : { [annotationKeys.deepPaused]: checkpoint };
}

function unexpected(phase: SandboxPhase | undefined, wanted: string): EndPlan {
  return refused("unexpected-pod-phase", `the pod is ${phase ?? "in no phase"}, not ${wanted}`);
}

function refused(code: EndRefusal, message: string): EndPlan {
  return { kind: "refused", code, message };
}
