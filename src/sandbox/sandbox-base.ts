/** What live and ended sandboxes have in common, read from their pod; and the record of a live one. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { poolOf, sandboxIdOf, sandboxPhaseOf, userOf } from "#model/claimed-pod.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import { isDeepPaused } from "#model/deep-pause.ts";
import { isFrozen } from "#model/pause.ts";
import type { Pod } from "#model/pod.ts";
import type { LiveSandboxStatus, RecordedMount, SandboxRecord } from "#model/sandbox-record.ts";
import { volumeMountsOf } from "#model/volume-mounts.ts";
import { formatTime, parseStringList, parseStringMap, parseTime } from "./annotation-values.ts";
import { readableImage } from "./images/image-pin.ts";
import { podResources } from "./pods/pod-resources.ts";

/** Without status and without all that only an end gives. */
export type SandboxBase = Omit<
  SandboxRecord,
  "status" | "terminatedAt" | "stopReason" | "failureReason" | "failureMessage" | "exitCode" | "containerId"
>;

/** Undefined for a pod that carries no sandbox. */
export function sandboxBaseFromPod(pod: Pod): SandboxBase | undefined {
  const sandboxId = sandboxIdOf(pod);
  if (sandboxId === undefined) return undefined;
  const { namespace = "", name = "", labels = {}, annotations = {} } = pod.metadata;
  return {
    sandboxId,
    namespace,
    poolName: poolOf(pod) ?? "",
    podName: name,
    team: labels[labelKeys.team] ?? "",
    user: userOf(pod) ?? "",
    claimedAt: claimTime(pod),
    containerImages: readableImages(specImages(pod)),
    metadata: parseStringMap(annotations[annotationKeys.sandboxMetadata]) ?? {},
    ...podResources(pod),
    ...withoutUndefined({
      envName: labels[labelKeys.env],
      templateName: annotations[annotationKeys.templateName],
      startedAt: normalTime(annotations[annotationKeys.startedAt]),
      labels: userLabels(labels, annotations),
      node: pod.spec.nodeName,
      volumeMounts: recordedMounts(pod),
    }),
  };
}

/** Undefined for a pod that carries no sandbox. */
export function liveRecordFromPod(pod: Pod): SandboxRecord | undefined {
  const base = sandboxBaseFromPod(pod);
  const status = liveStatusOf(pod);
  return base === undefined || status === undefined ? undefined : { ...base, status };
}

/** Undefined for a phase in which a pod carries no sandbox. */
export function liveStatusOf(pod: Pod): LiveSandboxStatus | undefined {
  const phase = sandboxPhaseOf(pod);
  if (phase === "starting") return "Starting";
  // The sandbox has left the pod, and is shown by its checkpoint.
  if (phase === "stopping") return pod.metadata.annotations?.[annotationKeys.deepPaused] === undefined ? "Stopping" : undefined;
  if (phase !== "running") return isDeepPaused(pod) ? "Paused" : undefined;
  return isFrozen(pod) ? "Paused" : "Running";
}

/** Every claim writes it; without one the pod's own age is the nearest there is. */
export function claimTime({ metadata: { annotations, creationTimestamp } }: Pod): string {
  return normalTime(annotations?.[annotationKeys.claimedAt]) ?? normalTime(creationTimestamp) ?? formatTime(0);
}

/** As their user knows them: without our counter. */
export function readableImages(images: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(images).map(([name, image]) => [name, readableImage(image)]));
}

export function specImages({ spec }: Pod): Readonly<Record<string, string>> {
  return Object.fromEntries(spec.containers.flatMap(({ name, image }) => (image === undefined ? [] : [[name, image]])));
}

type StringMap = Readonly<Record<string, string>>;

function userLabels(labels: StringMap, annotations: StringMap): StringMap | undefined {
  const keys = parseStringList(annotations[annotationKeys.managedLabelKeys]) ?? [];
  const entries = Object.entries(labels).filter(([key]) => keys.includes(key));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function recordedMounts(pod: Pod): readonly RecordedMount[] | undefined {
  const mounts = volumeMountsOf(pod).map(({ name, path, readOnly }) => ({ name, path, readOnly }));
  return mounts.length === 0 ? undefined : mounts;
}

function normalTime(text: string | undefined): string | undefined {
  const ms = parseTime(text);
  return ms === undefined ? undefined : formatTime(ms);
}
