/**
 * What to do about one pod: a pure function of the pod as it should be, of what is on the machine, and of the time.
 *
 * - `observed.ts`, `action.ts`      what goes in and what comes out
 * - `container-view.ts`             where each container stands
 * - `run-pod.ts`, `end-pod.ts`      the next steps of a pod that is to run, and of one that is to end
 * - `start-container.ts`, `stop-container.ts`, `restart-backoff.ts`   the steps of one container
 * - `egress.ts`, `volumes.ts`       where the pod may connect to, which volumes it has
 * - `pausing.ts`, `resting.ts`      whether it stands still: because that is wished, or because its sandbox has ended
 * - `probing.ts`                    what probes mean
 * - `unsupported.ts`, `placement.ts`  what is refused, and what may come to this node
 * - `pod-status.ts`, `pod-conditions.ts`, `container-status.ts`   what is reported
 *
 * P1 A plan is made of what is there, never of what was planned before: an agent may die between any two actions.
 * P2 A container is made once for each attempt; the number of the attempt never falls.
 * P3 How a container ended is in the stored status before anything that knows it is removed from the machine.
 * P4 The object of a deleted pod goes last, when nothing of it is left on the machine.
 */
import type { NodePod } from "#engines/embedded/node/agent/node-pod.ts";
import type { Action, Plan, PlannedEvent } from "./action.ts";
import { viewContainers, type ContainerView, isRecorded } from "./container-view.ts";
import { egressMove, egressEvents } from "./egress.ts";
import { activeDeadline, endingOf, endMoves, type Ending } from "./end-pod.ts";
import type { Scene, Move } from "./move.ts";
import type { Observed } from "./observed.ts";
import { pauseSteps } from "./pausing.ts";
import { podStatus } from "./pod-status.ts";
import { probeTargets } from "./probing.ts";
import { restSteps } from "./resting.ts";
import { runMoves } from "./run-pod.ts";
import { volumesMove } from "./volumes.ts";
import { isSameStatus } from "./same-status.ts";
import type { ContainerStatus, PodStatus } from "#model/pod.ts";

export function planPod(pod: NodePod, observed: Observed, now: number): Plan {
  const scene: Scene = { pod, observed, views: viewContainers(pod, observed), now };
  const ending = endingOf(pod, observed, now);
  const moves = ending === undefined ? runMoves(scene) : endMoves(scene, ending);
  const status = podStatus(scene, { moves, isEnding: ending !== undefined }, ending);
  const isOver = status.phase === "Succeeded" || status.phase === "Failed";
  const isFinishing = (ending !== undefined || isOver) && scene.views.every(({ situation }) => situation.kind !== "running");
  const isWritten = isSameStatus(status, pod.status);
  const steps = [...(ending === undefined ? [egressMove(scene), volumesMove(scene)] : []), ...moves.values(), leftoversMove(scene)];
  const { first, last, recheckAt } =
    restSteps(scene, moves, ending !== undefined) ?? pauseSteps(scene, ending === undefined ? moves : undefined);
  return {
    actions: isFinishing ? finishActions(scene, ending, isWritten) : [...first, ...steps.flatMap((move) => move.actions), ...last],
    status,
    events: statusEvents(scene, status, ending),
    // A frozen pod answers no probe, and that does not mean that it is broken.
    probes: ending === undefined && observed.runtime?.frozen !== true ? probeTargets(scene) : [],
    recheckInMs: recheckIn(scene, [recheckAt, ...steps.map((move) => move.recheckAt)]),
  };
}

/** Nothing runs any more and nothing will: what is left goes, once its end is on record (P3), and the object after it (P4). */
function finishActions({ pod, observed }: Scene, ending: Ending | undefined, isWritten: boolean): readonly Action[] {
  if (!isWritten) return [];
  if (observed.runtime !== undefined) return [{ kind: "remove-pod" }];
  const isMarked = pod.metadata.deletionGracePeriodSeconds === 0;
  return ending?.deleted === true && !isMarked ? [{ kind: "delete-object" }] : [];
}

function recheckIn({ pod, now }: Scene, times: readonly (number | undefined)[]): number | undefined {
  const next = Math.min(...[activeDeadline(pod), ...times].map((time) => (time !== undefined && time > now ? time : Infinity)));
  return next === Infinity ? undefined : next - now;
}

/**
 * Containers that nothing needs any more: attempts that newer ones have replaced, and such that the pod does not name.
 *
 * Cleaning up takes about as much of the machine as starting; it waits for the successor to be ready, but not for ever.
 */
const patienceMs = 5_000;

function leftoversMove(scene: Scene): Move {
  const names = new Set(scene.views.map(({ spec }) => spec.name));
  const strangers = (scene.observed.runtime?.containers ?? []).filter(({ name }) => !names.has(name));
  const replaced = scene.views.filter((view) => view.older.length > 0 && isSuccessorRecorded(view));
  const due = replaced.filter((view) => patienceEnds(view) <= scene.now);
  const recheckAt = Math.min(...replaced.map((view) => patienceEnds(view)).filter((at) => at > scene.now));
  return {
    actions: [...due.flatMap(({ older }) => older), ...strangers].map(({ id }) => ({ kind: "remove-container", id })),
    ...(recheckAt === Infinity ? {} : { recheckAt }),
  };
}

/** The status that speaks of the successor also tells how the one before it ended (P3). */
function isSuccessorRecorded({ situation, stored }: ContainerView): boolean {
  if (situation.kind === "never") return false;
  return isRecorded(stored, situation.kind === "ended" ? situation.end.id : situation.container.id);
}

/** Older containers are removed once the new one is reported ready: a create may wait for that report, so it goes first. */
function patienceEnds({ situation, stored }: ContainerView): number {
  if (situation.kind !== "running" || stored?.ready === true) return 0;
  return (situation.container.startedAt ?? 0) + patienceMs;
}

/** Events that tell of the status itself: each is told when the status comes to say so, which the stored one does not show yet. */
function statusEvents(scene: Scene, status: PodStatus, ending: Ending | undefined): readonly PlannedEvent[] {
  const reports = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return [
    ...verdictEvents(scene, ending),
    ...egressEvents(scene),
    ...scene.views.flatMap((view) => {
      const report = reports.find(({ name }) => name === view.spec.name);
      return report === undefined || isKnown(view, report) ? [] : backOffEvents(scene, view, report);
    }),
  ];
}

function verdictEvents({ pod }: Scene, ending: Ending | undefined): readonly PlannedEvent[] {
  if (ending?.verdict === undefined || pod.status.reason === ending.verdict.reason) return [];
  return [{ type: "Warning", ...ending.verdict }];
}

/** True when the stored status waits for the same reason since the same restart. */
function isKnown({ stored }: ContainerView, { state, restartCount }: ContainerStatus): boolean {
  return stored?.state?.waiting?.reason === state?.waiting?.reason && stored?.restartCount === restartCount;
}

function backOffEvents({ pod }: Scene, { spec, isInit }: ContainerView, { state }: ContainerStatus): readonly PlannedEvent[] {
  const { name, namespace, uid } = pod.metadata;
  const container = { name: spec.name, isInit };
  const reason = state?.waiting?.reason;
  if (reason === "CrashLoopBackOff") {
    const message = `Back-off restarting failed container ${spec.name} in pod ${name}_${namespace}(${uid})`;
    return [{ type: "Warning", reason: "BackOff", message, container }];
  }
  if (reason !== "ImagePullBackOff") return [];
  return [{ type: "Normal", reason: "BackOff", message: `Back-off pulling image "${spec.image ?? ""}"`, container }];
}
