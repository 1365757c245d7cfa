/**
 * Which volumes a sandbox has mounted. A wanted state and an answer, as with egress policies:
 *
 * - Wanted is the annotation `agentbox.navix.sh/volume-mounts` on the pod, JSON of a list of VolumeMount. A claim writes it and nothing changes it: a
 *   pod with it is not used again.
 * - The answer is the pod condition `agentbox.navix.sh/VolumeMounts`, written by the node. True: all of them are mounted, and its message repeats the
 *   wish. False with reason MountFailed: its message repeats the wish and says why; it is not tried again.
 *
 * Arming a sandbox with volumes waits for the answer: before it, its first program would write beside the volume.
 */
import { podCondition } from "./claimed-pod.ts";
import { annotationKeys, podConditionReasons, podConditions } from "./keys.ts";
import type { Pod } from "./pod.ts";

export interface VolumeMount {
  /** `metadata.uid` of the SandboxVolume. */
  readonly uid: string;
  /** What its team calls it. */
  readonly name: string;
  /** Absolute; see mount-path.ts. */
  readonly path: string;
  readonly readOnly: boolean;
}

export const maxVolumeMounts = 16;

export function volumeMountsText(mounts: readonly VolumeMount[]): string {
  return JSON.stringify(mounts.map(({ uid, name, path, readOnly }) => ({ uid, name, path, readOnly })));
}

/** Undefined for what is no such text. */
export function parseVolumeMounts(text: string): readonly VolumeMount[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return Array.isArray(value) && value.length <= maxVolumeMounts && value.every(isMount) ? value : undefined;
}

function isMount(value: unknown): value is VolumeMount {
  if (typeof value !== "object" || value === null) return false;
  const { uid, name, path, readOnly } = value as Readonly<Record<string, unknown>>;
  return [uid, name, path].every((one) => typeof one === "string") && typeof readOnly === "boolean";
}

export function volumeWish({ metadata: { annotations } }: Pick<Pod, "metadata">): string | undefined {
  return annotations?.[annotationKeys.volumeMounts];
}

/** What the pod's sandbox has mounted, or is to have. */
export function volumeMountsOf(pod: Pick<Pod, "metadata">): readonly VolumeMount[] {
  const wish = volumeWish(pod);
  return wish === undefined ? [] : (parseVolumeMounts(wish) ?? []);
}

/** True when the node has mounted what the pod wishes. */
export function areVolumesMounted(pod: Pod): boolean {
  const wish = volumeWish(pod);
  if (wish === undefined) return true;
  const condition = podCondition(pod, podConditions.volumeMounts);
  return condition?.status === "True" && condition.message === wish;
}

export function mountFailedMessage(wish: string, why: string): string {
  return `${wish}: ${why}`;
}

/** Why the wish is not granted; undefined as long as it may be. */
export function mountRefusal(pod: Pick<Pod, "metadata" | "status">): string | undefined {
  const wish = volumeWish(pod);
  const condition = podCondition(pod, podConditions.volumeMounts);
  if (wish === undefined || condition?.reason !== podConditionReasons.mountFailed) return undefined;
  const answered = mountFailedMessage(wish, "");
  return condition.message?.startsWith(answered) === true ? condition.message.slice(answered.length) : undefined;
}
