/**
 * A checkpoint on a cluster: what the files of a container have become, as a layer in the registry of the installation. A wish and an answer, as
 * with a pause (pause.ts):
 *
 * - The wish is the annotation `agentbox.navix.sh/layer-wish` on the pod. It names the container by the id of its runtime, so that it means one use of
 *   the pod and no other, whatever sandbox the pod carries next. The end of the sandbox takes it away.
 * - The answer is the pod condition `agentbox.navix.sh/Layer`, written by the agent of the pod's node: True when the registry has the layer, False when
 *   it cannot be had. Its message is JSON, and names the wish.
 */
import type { CheckpointFailure } from "./checkpoint.ts";
import { podCondition } from "./claimed-pod.ts";
import { annotationKeys, podConditionReasons, podConditions } from "./keys.ts";
import type { Pod, PodCondition } from "./pod.ts";

export interface LayerWish {
  /** Of the checkpoint; the layer goes into the repository of this name. */
  readonly id: string;
  /** Of the container, as its runtime calls it. */
  readonly containerId: string;
}

/** An uncompressed layer, as the registry has it. */
export interface PushedLayer {
  readonly digest: string;
  readonly size: number;
  /** How long the sandbox stood still. */
  readonly frozenMs: number;
  /** Of the node, in Go's words. */
  readonly architecture: string;
}

export interface LayerRefusal {
  readonly reason: CheckpointFailure;
  readonly why: string;
}

export type LayerAnswer = PushedLayer | LayerRefusal;

export function layerWishText({ id, containerId }: LayerWish): string {
  return JSON.stringify({ id, containerId });
}

/** Undefined where nothing is wished, or nothing that can be understood. */
export function layerWish({ metadata: { annotations } }: Pick<Pod, "metadata">): LayerWish | undefined {
  const { id, containerId } = parsed(annotations?.[annotationKeys.layerWish]);
  return typeof id === "string" && typeof containerId === "string" ? { id, containerId } : undefined;
}

export function isRefusal(answer: LayerAnswer): answer is LayerRefusal {
  return "why" in answer;
}

export function layerCondition({ id, containerId }: LayerWish, answer: LayerAnswer): Pick<PodCondition, "status" | "reason" | "message"> {
  const message = JSON.stringify({ id, containerId, ...answer });
  if (isRefusal(answer)) return { status: "False", reason: podConditionReasons.layerFailed, message };
  return { status: "True", reason: podConditionReasons.layerPushed, message };
}

/** What the node has answered to this wish; undefined as long as it has not. */
export function layerAnswer(pod: Pick<Pod, "status">, wish: LayerWish): LayerAnswer | undefined {
  const answer = parsed(podCondition(pod, podConditions.layer)?.message);
  if (answer["id"] !== wish.id || answer["containerId"] !== wish.containerId) return undefined;
  return isLayerAnswer(answer) ? answer : undefined;
}

function isLayerAnswer(value: object): value is LayerAnswer {
  const { reason, why, digest, size, frozenMs, architecture } = value as Readonly<Record<string, unknown>>;
  if (typeof why === "string") return typeof reason === "string";
  return [digest, architecture].every((one) => typeof one === "string") && [size, frozenMs].every((one) => typeof one === "number");
}

function parsed(text: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? "");
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}
