/**
 * Pausing without memory: the wish is the one for a pause, and one mark more. The sandbox is frozen, becomes a checkpoint and gives back its pod; one that is paused
 * already does the same from there. What cannot be done leaves the sandbox as it was.
 */
import type { EngineAbilities } from "#engine-port/abilities.ts";
import { isWaitError } from "#kube/wait/wait-error.ts";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { isDeepPaused } from "#model/deep-pause.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import { pauseWish } from "#model/pause.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { formatTime } from "#sandbox/annotation-values.ts";
import type { PodChange } from "#sandbox/pod-patch.ts";
import type { Caller } from "#services/caller.ts";
import { checkDeepPausing, checkPausing } from "#services/creating/check-abilities.ts";
import type { Wanted } from "#services/inside/carried-pod.ts";
import type { LimitGuard } from "#services/limits/limit-guard.ts";
import { findPod, livePod } from "#services/reading/find-sandbox.ts";
import { viewSandbox } from "#services/reading/get-sandbox.ts";
import type { SandboxView } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { changeSandbox } from "./change-sandbox.ts";
import { checkResumed, type PauseDeps } from "./pause-sandbox.ts";
import { asWaitFailure } from "./wait-failure.ts";

export interface DeepPauseDeps extends PauseDeps {
  readonly cache: PauseDeps["cache"] & Pick<SandboxCache, "deepPauseTask">;
  readonly abilities: Pick<EngineAbilities, "pause" | "deepPause">;
  readonly guard?: Pick<LimitGuard, "reserve"> | undefined;
}

/** A copy may take two minutes, and others may go before. */
const timeoutMs = 10 * 60_000;

export async function deepPauseSandbox(deps: DeepPauseDeps, caller: Caller, sandboxId: string, signal: AbortSignal): Promise<SandboxView> {
  checkDeepPausing(deps.abilities, { field: "memory" });
  const isThere = (): boolean => {
    const pod = findPod(deps, caller, sandboxId);
    return pod !== undefined && isDeepPaused(pod);
  };
  if (!isThere()) await untilThere(deps, { caller, sandboxId, wish: "pausing it" }, isThere, signal);
  return viewSandbox(deps, caller, sandboxId);
}

async function untilThere(deps: DeepPauseDeps, wanted: Wanted, isThere: () => boolean, signal: AbortSignal): Promise<void> {
  const pod = await livePod(deps, wanted.caller, wanted.sandboxId, wanted.wish);
  const wasRunning = pauseWish(pod) === undefined;
  const { [labelKeys.team]: team = "", [labelKeys.user]: user } = pod.metadata.labels ?? {};
  using meanwhile = new DisposableStack();
  meanwhile.use(deps.guard?.reserve({ team, user }, { checkpoints: 1 }));
  const task = meanwhile.use(held(deps, pod));
  await changeSandbox(deps, wanted, (now) => planWish(deps, now), signal);
  try {
    await task.wait({ timeoutMs, signal });
  } catch (error) {
    // The pod may be gone by the time that the wait looks at it.
    if (isThere()) return;
    if (isWaitError(error, { code: "failed" })) await changeSandbox(deps, wanted, (now) => withdrawn(now, wasRunning)).catch(() => {});
    throw asWaitFailure(error);
  }
}

function held({ cache }: DeepPauseDeps, pod: Pod): ReturnType<DeepPauseDeps["cache"]["deepPauseTask"]> {
  try {
    return cache.deepPauseTask(pod);
  } catch (error) {
    throw asWaitFailure(error);
  }
}

function planWish(deps: DeepPauseDeps, pod: Pod): PodChange | undefined {
  const { annotations = {} } = pod.metadata;
  const { nodeName } = pod.spec;
  checkPausing(deps.abilities, { nodeName });
  checkDeepPausing(deps.abilities, { nodeName, field: "memory" });
  if (sandboxPhaseOf(pod) !== "running") throw new ServiceError("conflict", "the sandbox is starting: it can be paused once it runs");
  checkResumed(pod);
  if (annotations[annotationKeys.pauseDeep] === "true") return undefined;
  const wish = pauseWish(pod) ?? formatTime(deps.clock.now());
  return {
    annotations: { [annotationKeys.paused]: wish, [annotationKeys.pauseDeep]: "true" },
    removeAnnotations: [annotationKeys.deepPauseFailure],
  };
}

/** One that ran before runs on; one that was paused stays paused. */
function withdrawn(pod: Pod, wasRunning: boolean): PodChange | undefined {
  if (pauseWish(pod) === undefined) return undefined;
  const { pauseDeep, deepPauseFailure, paused } = annotationKeys;
  return { removeAnnotations: [pauseDeep, deepPauseFailure, ...(wasRunning ? [paused] : [])] };
}
