/** Pausing: whether a pod is wished to stand still, whether it does, and the step between the two (model/pause.ts). */
import { podConditionReasons } from "#model/keys.ts";
import { freezeFailedMessage, freezeFailure, pauseWish } from "#model/pause.ts";
import { isNothing, type Moves, type Scene } from "./move.ts";
import type { Finding } from "./pod-conditions.ts";
import { type FreezeSteps, isHeld } from "./resting.ts";

/** `moves` are those of a pod that is to run; undefined for one that is to end. */
export function pauseSteps(scene: Scene, moves: Moves | undefined): FreezeSteps {
  const { pod, observed } = scene;
  const wish = pauseWish(pod);
  const isFrozen = observed.runtime?.frozen === true;
  const isWanted = wish !== undefined && failure(scene, wish) === undefined && moves !== undefined && isAtRest(scene, moves);
  if (isFrozen && !isWanted) return { first: [{ kind: "set-frozen", wish: undefined }], last: [] };
  if (!isFrozen && isWanted) return { first: [], last: [{ kind: "set-frozen", wish }] };
  return { first: [], last: [] };
}

/** True when nothing is to be started, nothing to be stopped, and no hook runs; and something is there that can be frozen. */
function isAtRest({ observed, views }: Scene, moves: Moves): boolean {
  const isRunning = views.some(({ situation }) => situation.kind === "running");
  const hasHook = [...observed.memory.postStarts.values()].includes("running");
  return isRunning && !hasHook && [...moves.values()].every(isNothing);
}

/** What is told of it; nothing of a pod that neither wishes it nor is frozen. A wish that failed has its answer, also for another agent. */
export function pauseFinding(scene: Pick<Scene, "pod" | "observed">, isEnding: boolean): Finding | undefined {
  const wish = pauseWish(scene.pod);
  const failed = wish === undefined ? undefined : failure(scene, wish);
  if (wish !== undefined && failed !== undefined) {
    return { status: "False", reason: podConditionReasons.freezeFailed, message: freezeFailedMessage(wish, failed) };
  }
  if (scene.observed.runtime?.frozen === true && !isHeld(scene)) return { status: "True", reason: "Frozen" };
  return wish === undefined || isEnding ? undefined : { status: "False", reason: "Pending" };
}

function failure({ pod, observed }: Pick<Scene, "pod" | "observed">, wish: string): string | undefined {
  const { freezeFailed } = observed.memory;
  return freezeFailed?.wish === wish ? freezeFailed.message : freezeFailure(pod);
}
