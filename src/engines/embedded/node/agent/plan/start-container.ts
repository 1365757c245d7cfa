/** From "should run" to a started container: back-off, slot, image, container, in this order. */
import { containerId } from "../container/identity.ts";
import type { ContainerView } from "./container-view.ts";
import { isEgressInForce } from "./egress.ts";
import { type Move, notYet, type Scene } from "./move.ts";
import type { PullState } from "./observed.ts";
import { type BackoffEntry, heldBackUntil } from "./restart-backoff.ts";

/** For so long a failed pull shows its own reason; then it shows that it waits for the next try. */
const pullErrorShownMs = 2_000;

export function startMove(scene: Scene, view: ContainerView): Move {
  const { pod, observed } = scene;
  const id = containerId(pod.metadata.uid, view.spec.name, view.nextAttempt, view.hash);
  return (
    heldBack(scene, view) ??
    slotMove(scene) ??
    pullMove(scene, view, id) ??
    createMove(scene, view, id, observed.memory.pulls.get(view.spec.name))
  );
}

/** Undefined when the pod has its slot, with an egress policy that holds; if it does not yet, another step sees to that. */
function slotMove(scene: Scene): Move | undefined {
  const { pod, observed, now } = scene;
  const waiting = notYet(pod);
  if (observed.runtime !== undefined) return isEgressInForce(scene) ? undefined : { actions: [], waiting };
  const failed = observed.memory.slotFailure;
  if (failed !== undefined && now < failed.retryAt) return { actions: [], waiting, recheckAt: failed.retryAt };
  return { actions: [{ kind: "ensure-pod" }], waiting };
}

function createMove({ pod, observed, now }: Scene, view: ContainerView, id: string, pull: PullState | undefined): Move {
  const waiting = notYet(pod);
  const { spec: container, isInit, nextAttempt: attempt, situation } = view;
  const failed = observed.memory.createFailures.get(container.name);
  if (failed !== undefined && failed.id === id && now < failed.retryAt) {
    const { reason, message, retryAt } = failed;
    return { actions: [], waiting: { reason: reason === "ContainerCreating" ? waiting.reason : reason, message }, recheckAt: retryAt };
  }
  if (pull?.kind !== "ready") return { actions: [], waiting };
  const previousEndedAt = situation.kind === "ended" ? (situation.end.finishedAt ?? 0) : undefined;
  return { actions: [{ kind: "create", container, isInit, id, attempt, image: pull.image, previousEndedAt }], waiting };
}

function heldBack({ pod, observed, now }: Scene, { situation, hash, spec }: ContainerView): Move | undefined {
  if (situation.kind !== "ended") return undefined;
  const entry = observed.memory.backoffs.get(hash);
  const until = heldBackUntil(entry, situation.end.finishedAt ?? 0, now);
  if (entry === undefined || until === undefined) return undefined;
  // Why it could not even begin says more than that it waits.
  const { reason, message: failure = "" } = situation.end;
  if (reason === "StartError") return { actions: [], waiting: { reason: "RunContainerError", message: failure }, recheckAt: until };
  const { name, namespace, uid } = pod.metadata;
  const message = `back-off ${backoffText(entry)} restarting failed container=${spec.name} pod=${name}_${namespace}(${uid})`;
  return { actions: [], waiting: { reason: "CrashLoopBackOff", message }, recheckAt: until };
}

/** `10s`, `1m20s`, `5m0s`. */
function backoffText({ delayMs }: BackoffEntry): string {
  const seconds = Math.round(delayMs / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

/** Undefined when the image for this very container is here. */
function pullMove({ pod, observed, now }: Scene, { spec: container }: ContainerView, id: string): Move | undefined {
  const waiting = notYet(pod);
  const pull = observed.memory.pulls.get(container.name);
  if (pull?.id !== id) return { actions: [{ kind: "pull", container, id, failures: 0 }], waiting };
  if (pull.kind !== "failed") return pull.kind === "ready" ? undefined : { actions: [], waiting };
  const { reason, message, failures, failedAt, retryAt } = pull;
  if (now >= retryAt) return { actions: [{ kind: "pull", container, id, failures }], waiting: { reason, message } };
  const shownUntil = reason === "ErrImagePull" ? Math.min(failedAt + pullErrorShownMs, retryAt) : retryAt;
  if (now < shownUntil) return { actions: [], waiting: { reason, message }, recheckAt: shownUntil };
  const backOff = { reason: "ImagePullBackOff", message: `Back-off pulling image "${container.image ?? ""}": ${reason}: ${message}` };
  return { actions: [], waiting: backOff, recheckAt: retryAt };
}
