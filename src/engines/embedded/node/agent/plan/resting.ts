/**
 * Pods that rest after the end of their sandbox (model/rest.ts). Their daemon was told to end all processes, and said that it has. But root of the
 * sandbox may have put another program in its place, so the node freezes what is left, and only the kill of its container wakes it.
 */
import { podConditionReasons } from "#model/keys.ts";
import { restAnswer, restWish } from "#model/rest.ts";
import type { Action } from "./action.ts";
import { isNothing, type Moves, type Scene } from "./move.ts";
import type { Finding } from "./pod-conditions.ts";

export interface FreezeSteps {
  /** Before everything else: a frozen process hears no signal, and no other container can join it. */
  readonly first: readonly Action[];
  /** After everything else: a frozen process cannot do what is still asked of it. */
  readonly last: readonly Action[];
  readonly recheckAt?: number;
}

/** The daemon, which would be frozen too, has answered the order to end everything by then, or is too late (life/recycle/resting.ts). */
const orderTakesMs = 2_000;

const thaw: Action = { kind: "set-frozen", wish: undefined };

/** Undefined for a pod that does not rest and is not held: whether it stands still is the matter of pausing alone. */
export function restSteps(scene: Scene, moves: Moves, isEnding: boolean): FreezeSteps | undefined {
  if (isHeld(scene)) return { first: isToBeThawed(scene, moves) ? [thaw] : [], last: [] };
  const { pod, observed, now } = scene;
  const wish = restWish(pod);
  if (wish === undefined || isEnding) return undefined;
  if (observed.memory.freezeFailed?.wish === wish || !isRunning(scene) || ![...moves.values()].every(isNothing)) return nothing;
  const since = Date.parse(wish);
  // A clock that was set back must not keep it running.
  const isDue = !(now >= since && now < since + orderTakesMs);
  return isDue ? { first: [], last: [{ kind: "set-frozen", wish }] } : { ...nothing, recheckAt: since + orderTakesMs };
}

const nothing: FreezeSteps = { first: [], last: [] };

/** True when the pod is frozen because it rests, or rested until now. */
export function isHeld({ pod, observed }: Pick<Scene, "pod" | "observed">): boolean {
  return observed.runtime?.frozen === true && (restWish(pod) !== undefined || restAnswer(pod) === "frozen");
}

/** A killed container dies when it is thawed, before it can do anything else; one that is still to be killed waits frozen. */
function isToBeThawed({ pod, observed, views }: Scene, moves: Moves): boolean {
  const isKilled = views.every(
    ({ situation }) => situation.kind !== "running" || observed.memory.stops.get(situation.container.id)?.killedAt !== undefined,
  );
  return isKilled || (restWish(pod) === undefined && [...moves.values()].every(isNothing));
}

function isRunning({ views }: Scene): boolean {
  return views.some(({ situation }) => situation.kind === "running");
}

/** What is told of it; nothing of a pod that does not rest, or that is not frozen yet. */
export function restFinding(scene: Pick<Scene, "pod" | "observed">): Finding | undefined {
  const { freezeFailed } = scene.observed.memory;
  if (freezeFailed !== undefined && freezeFailed.wish === restWish(scene.pod)) {
    return { status: "False", reason: podConditionReasons.freezeFailed, message: freezeFailed.message };
  }
  return isHeld(scene) ? { status: "True", reason: "Frozen" } : undefined;
}
