/** How a container is reported, as a kubelet would. */
import { kubernetesTime } from "#lib/clock.ts";
import type { ContainerState, ContainerStatus } from "#model/pod.ts";
import type { LostEnd } from "../../node-life.ts";
import { containerReference, readNote } from "../container/identity.ts";
import { type ContainerView, type Ended, isRecorded, remembered } from "./container-view.ts";
import { type Moves, notYet, type Scene } from "./move.ts";
import { hasStarted, isReady } from "./probing.ts";
import { isWanted } from "./run-pod.ts";

export interface Course {
  readonly moves: Moves;
  /** True when nothing of the pod is started any more. */
  readonly isEnding: boolean;
}

export function containerStatus(scene: Scene, view: ContainerView, course: Course): ContainerStatus {
  const { spec, isInit, situation } = view;
  const { image, imageID, id } = identity(view);
  const states = keepFinal(scene, view, statesOf(scene, view, course));
  return {
    name: spec.name,
    ...states,
    ready: isInit ? states.state.terminated?.exitCode === 0 : isReady(scene.observed, view),
    restartCount: view.restartCount,
    image,
    imageID,
    ...(id === "" ? {} : { containerID: containerReference(id) }),
    started: !isInit && situation.kind === "running" && hasStarted(scene.observed, view),
  };
}

function identity({ situation, stored, spec }: ContainerView): { image: string; imageID: string; id: string } {
  if (situation.kind === "never") return { image: spec.image ?? "", imageID: "", id: "" };
  if (situation.kind === "ended" && situation.container === undefined) {
    return { image: stored?.image ?? "", imageID: stored?.imageID ?? "", id: situation.end.id };
  }
  const { container } = situation;
  if (container === undefined) return { image: "", imageID: "", id: "" };
  const { image, imageId: imageID } = readNote(container);
  return { image, imageID, id: container.id };
}

interface States {
  readonly state: ContainerState;
  readonly lastState: ContainerState;
}

function statesOf(scene: Scene, view: ContainerView, { moves, isEnding }: Course): States {
  const { situation } = view;
  const { lost } = scene.observed.node;
  const waiting: ContainerState = { waiting: moves.get(view)?.waiting ?? notYet(scene.pod) };
  switch (situation.kind) {
    case "never":
      return { state: waiting, lastState: {} };
    case "created":
      return { state: waiting, lastState: lastStateOf(view, situation.container.id, lost) };
    case "running":
      return {
        state: { running: { startedAt: kubernetesTime(situation.container.startedAt ?? 0) } },
        lastState: lastStateOf(view, situation.container.id, lost),
      };
    case "ended": {
      const terminated = terminatedState(situation.end);
      const isStartedAgain = !isEnding && isWanted(scene.pod, view);
      return isStartedAgain
        ? { state: waiting, lastState: terminated }
        : { state: terminated, lastState: lastStateOf(view, situation.end.id, lost) };
    }
  }
}

/** How the attempt before this one ended. */
function lastStateOf({ olderEnd, stored }: ContainerView, id: string, lost: LostEnd | undefined): ContainerState {
  if (olderEnd !== undefined) return terminatedState(olderEnd);
  if (!isRecorded(stored, id)) {
    const earlier = remembered(stored, lost);
    return earlier.kind === "ended" && earlier.end.id !== id ? terminatedState(earlier.end) : {};
  }
  return stored?.lastState?.terminated?.containerID === containerReference(id) ? {} : (stored?.lastState ?? {});
}

function terminatedState({ id, code, signal, reason, message, startedAt, finishedAt }: Ended): ContainerState {
  return {
    terminated: {
      exitCode: code,
      ...(signal === undefined || signal === 0 ? {} : { signal }),
      reason,
      ...(message === undefined || message === "" ? {} : { message }),
      ...(startedAt === undefined ? {} : { startedAt: kubernetesTime(startedAt) }),
      ...(finishedAt === undefined ? {} : { finishedAt: kubernetesTime(finishedAt) }),
      ...(id === "" ? {} : { containerID: containerReference(id) }),
    },
  };
}

/** What was once reported as ended for good stays so: the server refuses anything else. */
function keepFinal({ pod: { spec } }: Scene, { stored }: ContainerView, states: States): States {
  const terminated = stored?.state?.terminated;
  if (terminated === undefined || states.state.terminated !== undefined) return states;
  const mayRestart = spec.restartPolicy === "Always" || (spec.restartPolicy === "OnFailure" && terminated.exitCode !== 0);
  return mayRestart ? states : { state: stored?.state ?? {}, lastState: stored?.lastState ?? {} };
}
