/** Stops a container: first the hook, then the stop signal, and SIGKILL when its grace period is over. */
import type { ContainerSignal, ContainerStateOnNode } from "../../pod-runtime.ts";
import { readNote } from "../container/identity.ts";
import type { StoredContainer } from "#engines/embedded/stored-pod.ts";
import type { Move, Scene } from "./move.ts";
import type { StopProgress } from "./observed.ts";
import { isHeld } from "./resting.ts";

export interface Stop {
  readonly graceMs: number;
  /** However late the stop was noticed, it ends here. */
  readonly notAfter?: number;
  /** For people. */
  readonly why: string;
}

/** What a container gets after its hook has used up its time, so that it hears the signal before it is killed. */
const leastAfterHookMs = 2_000;
/** A killed container that does not end is taken away by force. */
const forceAfterMs = 10_000;

const stopSignals: ReadonlySet<string> = new Set(["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH"]);

export function stopMove(scene: Scene, container: StoredContainer, state: ContainerStateOnNode, asked: Stop): Move {
  const { id } = state;
  // Its time is over since its sandbox ended: it is killed as it stands.
  const stop = isHeld(scene) ? { ...asked, graceMs: 0 } : asked;
  const progress = scene.observed.memory.stops.get(id);
  if (progress === undefined) return { actions: [{ kind: "begin-stop", container, id, graceMs: stop.graceMs, why: stop.why }] };
  if (progress.killedAt !== undefined) return afterKill(id, progress.killedAt, scene.now);
  const deadline = deadlineOf(progress, stop);
  if (progress.signalledAt === undefined) return beforeSignal(scene, container, state, { progress, deadline });
  const killAt = progress.preStop === undefined ? deadline : Math.max(deadline, progress.signalledAt + leastAfterHookMs);
  if (scene.now < killAt) return { actions: [], recheckAt: killAt };
  return { actions: [{ kind: "signal", id, signal: "SIGKILL" }] };
}

/** A stop that is under way only gets shorter. */
function deadlineOf({ beganAt, graceMs }: StopProgress, { graceMs: now, notAfter }: Stop): number {
  return Math.min(beganAt + Math.min(graceMs, now), notAfter ?? Infinity);
}

function beforeSignal(
  { now }: Scene,
  container: StoredContainer,
  state: ContainerStateOnNode,
  { progress, deadline }: { readonly progress: StopProgress; readonly deadline: number },
): Move {
  const { id } = state;
  if (deadline <= progress.beganAt) return { actions: [{ kind: "signal", id, signal: "SIGKILL" }] };
  if (progress.preStop === "due" && now < deadline) return { actions: [{ kind: "pre-stop", container, id, withinMs: deadline - now }] };
  if (progress.preStop === "running" && now < deadline) return { actions: [], recheckAt: deadline };
  return { actions: [{ kind: "signal", id, signal: stopSignal(state) }] };
}

function afterKill(id: string, killedAt: number, now: number): Move {
  const forceAt = killedAt + forceAfterMs;
  return now < forceAt ? { actions: [], recheckAt: forceAt } : { actions: [{ kind: "remove-container", id }] };
}

function stopSignal(state: ContainerStateOnNode): ContainerSignal {
  const wished = readNote(state).stopSignal;
  return isStopSignal(wished) ? wished : "SIGTERM";
}

export function isStopSignal(text: string): text is ContainerSignal {
  return stopSignals.has(text);
}
