/** Whether a pod is to stand still, and what its conditions say of that and of its layer (model/pause.ts, model/layer-wish.ts). Pure. */
import { kubernetesTime } from "#lib/clock.ts";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { podConditionReasons, podConditions } from "#model/keys.ts";
import { type LayerAnswer, layerCondition, type LayerWish } from "#model/layer-wish.ts";
import { freezeFailedMessage, freezeFailure, pauseWish } from "#model/pause.ts";
import type { ContainerStatus, Pod, PodCondition } from "#model/pod.ts";

/** What became of a wish that could not be granted. */
export interface Failed {
  readonly wish: string;
  readonly message: string;
}

/**
 * The wish to be granted; undefined when the pod is to run. Whatever is to be done with a frozen pod begins with thawing it: one that is
 * deleted, released or about to get other containers hears no signal. A wish that failed is not tried again, also not by another agent.
 */
export function wishToGrant(pod: Pod, failed: Failed | undefined): string | undefined {
  const wish = pauseWish(pod);
  if (wish === undefined || failed?.wish === wish || freezeFailure(pod) !== undefined) return undefined;
  return pod.metadata.deletionTimestamp === undefined && sandboxPhaseOf(pod) === "running" && isAtRest(pod) ? wish : undefined;
}

/** Those that run now. Init containers that go on beside the others are of the sandbox too. */
export function runningContainers({ status }: Pod): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].filter(
    ({ state }) => state?.running !== undefined,
  );
}

/** `containerd://<id>`. */
export function containerIdOf({ containerID = "" }: ContainerStatus): string {
  return containerID.slice(containerID.indexOf("://") + "://".length);
}

/** All containers run, on the images that the pod wants. */
function isAtRest(pod: Pod): boolean {
  const running = new Map(runningContainers(pod).map((status) => [status.name, status]));
  return pod.spec.containers.every(({ name, image }) => {
    const status = running.get(name);
    return status !== undefined && !isOtherImage(image, status.imageID);
  });
}

const digestAtEnd = /sha256:[0-9a-f]{64}$/;

/** By digest: nodes report any name of the same content. What has none cannot be told apart. */
function isOtherImage(wanted: string | undefined, actual: string | undefined): boolean {
  const [left] = digestAtEnd.exec(wanted ?? "") ?? [];
  const [right] = digestAtEnd.exec(actual ?? "") ?? [];
  return left !== undefined && right !== undefined && left !== right;
}

/** What is known of a pod that may be frozen, or has a layer taken. */
export interface Standing {
  readonly isFrozen: boolean;
  readonly failed: Failed | undefined;
  /** Left out, or without a wish: none is taken. */
  readonly layer?: { readonly wish?: LayerWish; readonly answer?: LayerAnswer | undefined } | undefined;
}

/** The pod's conditions as they are to be; undefined when they are so already. */
export function conditionsToWrite(pod: Pod, standing: Standing, now: number): readonly PodCondition[] | undefined {
  const before = pod.status?.conditions ?? [];
  const paused = told(before, podConditions.paused, answerOf(pod, standing), now);
  const { wish, answer } = standing.layer ?? {};
  const after = told(paused, podConditions.layer, wish && answer && layerCondition(wish, answer), now);
  return after === before ? undefined : after;
}

type Answer = Pick<PodCondition, "status" | "reason" | "message">;

/** The same list where nothing is new. */
function told(
  conditions: readonly PodCondition[],
  type: string,
  answer: Answer | "as before" | undefined,
  now: number,
): readonly PodCondition[] {
  const before = conditions.find((one) => one.type === type);
  if (answer === "as before" || isSame(answer, before)) return conditions;
  const others = conditions.filter((one) => one !== before);
  if (answer === undefined) return others;
  const since = before?.status === answer.status ? before.lastTransitionTime : undefined;
  return [...others, { type, ...answer, lastTransitionTime: since ?? kubernetesTime(now) }];
}

/** Undefined: nothing is said of it. */
function answerOf(pod: Pod, { isFrozen, failed }: Standing): Answer | "as before" | undefined {
  if (isFrozen) return { status: "True", reason: "Frozen" };
  if (failed !== undefined && failed.wish === pauseWish(pod)) {
    return { status: "False", reason: podConditionReasons.freezeFailed, message: freezeFailedMessage(failed.wish, failed.message) };
  }
  // What another agent answered to this wish stays.
  return freezeFailure(pod) === undefined ? undefined : "as before";
}

function isSame(answer: Answer | undefined, before: PodCondition | undefined): boolean {
  return answer?.status === before?.status && answer?.reason === before?.reason && (answer?.message ?? "") === (before?.message ?? "");
}
