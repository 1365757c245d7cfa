/**
 * Pausing and resuming in place (model/pause.ts): the wish is one conditional write, the node's answer is waited for. A wait task holds
 * the sandbox from before the write, so that of two opposite wishes the second is told of the first.
 *
 * While it is paused no clock of a sandbox runs. Resuming it, the same write gives back what was left of its time, and never less than
 * `leastAfterResumeMs`, and of one that traffic wakes what it was made with: one that was paused by its end time would otherwise be ended by it at once. Resuming is use, so the idle
 * timeout begins anew.
 */
import type { EngineAbilities } from "#engine-port/abilities.ts";
import type { Clock } from "#lib/clock.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { isWaitError } from "#kube/wait/wait-error.ts";
import type { WaitTask } from "#kube/wait/wait-task.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { isDeepPaused, resumedFrom } from "#model/deep-pause.ts";
import { annotationKeys } from "#model/keys.ts";
import { freezeFailure, pauseWish } from "#model/pause.ts";
import type { Pod } from "#model/pod.ts";
import { formatTime } from "#sandbox/annotation-values.ts";
import type { PodChange } from "#sandbox/pod-patch.ts";
import type { Caller } from "#services/caller.ts";
import type { Wanted } from "#services/inside/carried-pod.ts";
import { type ChangeDeps, changeSandbox } from "./change-sandbox.ts";
import type { DeepResumes } from "./resume-deep-paused.ts";
import { timeLeft } from "./time-left.ts";
import { asWaitFailure } from "./wait-failure.ts";
import { checkPausing } from "#services/creating/check-abilities.ts";
import { findPod, livePod, noSuchSandbox } from "#services/reading/find-sandbox.ts";
import type { SandboxView } from "#services/sandbox-service.ts";
import { viewOf } from "#services/reading/sandbox-view.ts";
import { ServiceError } from "#services/service-error.ts";

export interface ResumeDeps extends ChangeDeps {
  readonly cache: Pick<SandboxCache, "podsOfSandbox" | "refreshSandbox" | "readPod" | "pods" | "pauseTask" | "resumeTask">;
  readonly clock: Clock;
  /** Left out where no sandbox is ever without its pod. */
  readonly deepResumes?: Pick<DeepResumes, "resume"> | undefined;
}

export interface PauseDeps extends ResumeDeps {
  readonly abilities: Pick<EngineAbilities, "pause">;
}

/** A node freezes in milliseconds; one that takes longer than this has other troubles, and does it later. */
const timeoutMs = 30_000;

/** One that is paused already, with a pod or without, is a success. */
export async function pauseSandbox(deps: PauseDeps, caller: Caller, sandboxId: string, signal: AbortSignal): Promise<SandboxView> {
  const deepPaused = findDeepPaused(deps, caller, sandboxId);
  if (deepPaused !== undefined) return viewOfPaused(deepPaused);
  const wanted: Wanted = { caller, sandboxId, wish: "pausing it" };
  using task = await begin(deps, wanted, (pod) => deps.cache.pauseTask(pod));
  await changeSandbox(deps, wanted, (pod) => planPause(deps, pod), signal);
  try {
    return await outcome(task, sandboxId, signal);
  } catch (error) {
    // A wish that stays would stop the sandbox's clocks for good.
    if (isWaitError(error, { code: "failed", reason: "FreezeFailed" })) await changeSandbox(deps, wanted, withdrawn).catch(() => {});
    throw asWaitFailure(error);
  }
}

export async function resumeSandbox(deps: ResumeDeps, caller: Caller, sandboxId: string, signal: AbortSignal): Promise<SandboxView> {
  const leaving = findLeaving(deps, caller, sandboxId);
  if (leaving !== undefined && deps.deepResumes !== undefined) return deps.deepResumes.resume(caller, leaving, signal);
  const wanted: Wanted = { caller, sandboxId, wish: "resuming it" };
  using task = await begin(deps, wanted, (pod) => deps.cache.resumeTask(pod));
  await changeSandbox(deps, wanted, (pod) => planResume(pod, deps.clock.now()), signal);
  try {
    return await outcome(task, sandboxId, signal);
  } catch (error) {
    throw asWaitFailure(error);
  }
}

async function begin(deps: ResumeDeps, wanted: Wanted, hold: (pod: Pod) => WaitTask<Pod>): Promise<WaitTask<Pod>> {
  const pod = await livePod(deps, wanted.caller, wanted.sandboxId, wanted.wish);
  try {
    return hold(pod);
  } catch (error) {
    throw asWaitFailure(error);
  }
}

async function outcome(task: WaitTask<Pod>, sandboxId: string, signal: AbortSignal): Promise<SandboxView> {
  const view = viewOf(await task.wait({ timeoutMs, signal }));
  if (view === undefined) throw noSuchSandbox(sandboxId);
  return view;
}

function planPause(deps: PauseDeps, pod: Pod): PodChange | undefined {
  checkPausing(deps.abilities, { nodeName: pod.spec.nodeName });
  if (sandboxPhaseOf(pod) !== "running") {
    throw new ServiceError("conflict", "the sandbox is starting: it can be paused once it runs");
  }
  checkResumed(pod);
  return pauseWish(pod) === undefined ? { annotations: { [annotationKeys.paused]: formatTime(deps.clock.now()) } } : undefined;
}

/** Until then an end of its pod leads back to its checkpoint, and a pause would last for good. */
export function checkResumed(pod: Pod): void {
  if (resumedFrom(pod) === undefined) return;
  throw new ServiceError("conflict", "pause is not possible now: resume of this sandbox is under way", { retryAfterSeconds: 1 });
}

function planResume(pod: Pod, now: number): PodChange | undefined {
  const wish = pauseWish(pod);
  if (wish === undefined) return undefined;
  const left = timeLeft(pod, now);
  return {
    annotations: {
      [annotationKeys.lastActive]: formatTime(now),
      ...(left === undefined ? {} : { [annotationKeys.endTime]: formatTime(now + left) }),
    },
    removeAnnotations: [annotationKeys.paused, annotationKeys.pauseDeep, annotationKeys.deepPauseFailure],
  };
}

/** The caller's sandbox, if a checkpoint has it. */
function findDeepPaused(deps: ResumeDeps, caller: Caller, sandboxId: string): Pod | undefined {
  const pod = findPod(deps, caller, sandboxId);
  return pod !== undefined && isDeepPaused(pod) ? pod : undefined;
}

/** The same, or one that is on its way from there to a pod. */
function findLeaving(deps: ResumeDeps, caller: Caller, sandboxId: string): Pod | undefined {
  const pod = findPod(deps, caller, sandboxId);
  return pod !== undefined && (isDeepPaused(pod) || resumedFrom(pod) !== undefined) ? pod : undefined;
}

function viewOfPaused(pod: Pod): SandboxView {
  const view = viewOf(pod);
  if (view === undefined) throw noSuchSandbox(sandboxIdOf(pod) ?? "");
  return view;
}

/** Only the wish that failed: another one may have taken its place. */
function withdrawn(pod: Pod): PodChange | undefined {
  return freezeFailure(pod) === undefined ? undefined : { removeAnnotations: [annotationKeys.paused] };
}
