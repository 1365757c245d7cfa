/**
 * What to do about one pod: a pure function of the pod as it should be, of what is on the machine, and of the time.
 *
 * - `observed.ts`, `action.ts`      what goes in and what comes out
 * - `container-view.ts`             where each container stands
 * - `run-pod.ts`, `end-pod.ts`      the next steps of a pod that is to run, and of one that is to end
 * - `start-container.ts`, `stop-container.ts`, `restart-backoff.ts`   the steps of one container
 * - `egress.ts`                     where the pod may connect to
 * - `pausing.ts`                    whether it stands still
 * - `leftovers.ts`                  what is taken away
 * - `probing.ts`                    what probes mean
 * - `unsupported.ts`, `placement.ts`  what is refused, and what may come to this node
 * - `pod-status.ts`, `pod-conditions.ts`, `container-status.ts`, `status-events.ts`   what is reported
 *
 * P1 A plan is made of what is there, never of what was planned before: an agent may die between any two actions.
 * P2 A container is made once for each attempt; the number of the attempt never falls.
 * P3 How a container ended is in the stored status before anything that knows it is removed from the machine.
 * P4 The object of a deleted pod goes last, when nothing of it is left on the machine.
 */
import type { NodePod } from "../pod-fields.ts";
import type { Action, Plan } from "./action.ts";
import { viewContainers } from "./container-view.ts";
import { egressMove } from "./egress.ts";
import { activeDeadline, endingOf, endMoves, type Ending } from "./end-pod.ts";
import { leftoversMove } from "./leftovers.ts";
import type { Move, Scene } from "./move.ts";
import type { Observed } from "./observed.ts";
import { pauseSteps } from "./pausing.ts";
import { podStatus } from "./pod-status.ts";
import { probeTargets } from "./probing.ts";
import { runMoves } from "./run-pod.ts";
import { isSameStatus } from "./same-status.ts";
import { statusEvents } from "./status-events.ts";

export function planPod(pod: NodePod, observed: Observed, now: number): Plan {
  const scene: Scene = { pod, observed, views: viewContainers(pod, observed), now };
  const ending = endingOf(pod, observed, now);
  const moves = ending === undefined ? runMoves(scene) : endMoves(scene, ending);
  const status = podStatus(scene, { moves, isEnding: ending !== undefined }, ending);
  const isOver = status.phase === "Succeeded" || status.phase === "Failed";
  const isFinishing = (ending !== undefined || isOver) && scene.views.every(({ situation }) => situation.kind !== "running");
  const isWritten = isSameStatus(status, pod.status);
  const steps = [...(ending === undefined ? [egressMove(scene)] : []), ...moves.values(), leftoversMove(scene)];
  const { first, last } = pauseSteps(scene, ending === undefined ? moves : undefined);
  return {
    actions: isFinishing ? finishActions(scene, ending, isWritten) : [...first, ...steps.flatMap((move) => move.actions), ...last],
    status,
    events: statusEvents(scene, status, ending),
    // Who is frozen answers nobody, and that means nothing.
    probes: ending === undefined && observed.runtime?.frozen !== true ? probeTargets(scene) : [],
    recheckInMs: recheckIn(scene, steps),
  };
}

/** Nothing runs any more and nothing will: what is left goes, once its end is on record (P3), and the object after it (P4). */
function finishActions({ pod, observed }: Scene, ending: Ending | undefined, isWritten: boolean): readonly Action[] {
  if (!isWritten) return [];
  if (observed.runtime !== undefined) return [{ kind: "remove-pod" }];
  const isMarked = pod.metadata.deletionGracePeriodSeconds === 0;
  return ending?.deleted === true && !isMarked ? [{ kind: "delete-object" }] : [];
}

function recheckIn({ pod, now }: Scene, moves: readonly Move[]): number | undefined {
  const times = [activeDeadline(pod), ...moves.map(({ recheckAt }) => recheckAt)];
  const next = Math.min(...times.map((time) => (time !== undefined && time > now ? time : Infinity)));
  return next === Infinity ? undefined : next - now;
}
