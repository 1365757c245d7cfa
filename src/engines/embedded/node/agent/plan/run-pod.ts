/** The next steps of a pod that is to run: its init containers one after the other, then the others side by side. */
import { readNote } from "../container/identity.ts";
import type { NodePod } from "../node-pod.ts";
import type { ContainerView } from "./container-view.ts";
import type { Move, Moves, Scene } from "./move.ts";
import { failedProbe } from "./probing.ts";
import { startMove } from "./start-container.ts";
import { type Stop, stopMove } from "./stop-container.ts";

export function runMoves(scene: Scene): Moves {
  const mains = scene.views.filter(({ isInit }) => !isInit);
  const unfinished = isInitialized(scene.views) ? undefined : scene.views.find((view) => view.isInit && !isDone(view));
  if (unfinished === undefined) return new Map(mains.map((view) => [view, containerMove(scene, view)]));
  // A pod that lost its slot when all its work was done has nothing to prepare.
  if (!mains.some((view) => isWanted(scene.pod, view))) return new Map();
  return new Map([[unfinished, containerMove(scene, unfinished)]]);
}

/**
 * Init containers prepare files in the pod's slot, so only the machine's state counts. A pod whose slot was lost is prepared again,
 * even if its status says that it is initialized.
 */
function isInitialized(views: readonly ContainerView[]): boolean {
  const hasMain = views.some(
    ({ isInit, situation, older }) => !isInit && (older.length > 0 || (situation.kind !== "never" && situation.container !== undefined)),
  );
  return hasMain || views.every((view) => !view.isInit || isDone(view));
}

function isDone({ situation }: ContainerView): boolean {
  return situation.kind === "ended" && situation.container !== undefined && situation.end.code === 0;
}

function containerMove(scene: Scene, view: ContainerView): Move {
  const { situation, spec } = view;
  if (situation.kind === "running") {
    const stop = whyStop(scene, view);
    return stop === undefined ? { actions: [] } : stopMove(scene, spec, situation.container, stop);
  }
  if (situation.kind === "created") {
    const { id } = situation.container;
    const isStale = readNote(situation.container).hash !== view.hash;
    return { actions: [isStale ? { kind: "remove-container", id } : { kind: "start", container: spec, id }] };
  }
  return isWanted(scene.pod, view) ? startMove(scene, view) : { actions: [] };
}

/** Whether a container that does not run should. */
export function isWanted({ spec }: NodePod, view: ContainerView): boolean {
  const { situation, stored, isInit } = view;
  if (situation.kind !== "ended") return true;
  const failed = situation.end.code !== 0;
  if (isInit) return failed ? spec.restartPolicy !== "Never" : situation.container === undefined;
  // It ended to make room for another image, and not by itself: then the status has never shown it as ended.
  const isReplaced =
    situation.container !== undefined && readNote(situation.container).hash !== view.hash && stored?.state?.terminated === undefined;
  return isReplaced || spec.restartPolicy === "Always" || (spec.restartPolicy === "OnFailure" && failed);
}

/** Why a running container has to go; undefined while it may stay. A stop that has begun goes on. */
function whyStop({ pod, observed }: Scene, view: ContainerView): Stop | undefined {
  const { spec, situation } = view;
  if (situation.kind !== "running") return undefined;
  const { container } = situation;
  const graceMs = pod.spec.terminationGracePeriodSeconds * 1000;
  const restart = pod.spec.restartPolicy === "Never" ? "" : ", will be restarted";
  if (!view.isInit && readNote(container).hash !== view.hash) {
    return { graceMs, why: `Container ${spec.name} definition changed, will be restarted` };
  }
  const failed = view.isInit ? undefined : failedProbe(observed, view);
  if (failed !== undefined) {
    const ownGrace = failed.probe.terminationGracePeriodSeconds;
    return {
      graceMs: ownGrace === undefined ? graceMs : ownGrace * 1000,
      why: `Container ${spec.name} failed ${failed.kind} probe${restart}`,
    };
  }
  if (observed.memory.postStarts.get(container.id) === "failed")
    return { graceMs, why: `Container ${spec.name} failed its postStart hook${restart}` };
  return observed.memory.stops.has(container.id) ? { graceMs, why: "" } : undefined;
}
