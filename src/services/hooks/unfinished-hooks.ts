/**
 * Runs the post-start hooks of a sandbox whose API process died before it had run them all. Every API process follows the marks; one that has seen the same
 * mark for as long as its maker may take asks the daemon whether the sandbox is armed, and takes over with one conditional write, so only one process
 * runs them at a time. It starts again with the first hook: each runs at least once, in order. If it dies too, the next process takes over in the same way.
 *
 * A sandbox that was never armed is left to the controller of timeouts: the environment of its create is written nowhere.
 */
import { type Controller, startController } from "#kube/controller/controller.ts";
import { formatKey, type Key } from "#kube/controller/key.ts";
import { changesOf } from "#kube/controller/source.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import { patchPodAsSeen } from "#life/patch-pod.ts";
import { isClaimed, sandboxIdOf } from "#model/claimed-pod.ts";
import { annotationKeys, failureReasons } from "#model/keys.ts";
import { isFrozen, pauseWish } from "#model/pause.ts";
import type { Pod } from "#model/pod.ts";
import { formatTime, parseSeconds } from "#sandbox/annotation-values.ts";
import { areHooksPending, formatHooksMark, hooksGraceMs, type HooksMark, hooksMarkOf } from "#sandbox/hooks-mark.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import type { ClaimContext } from "#services/creating/claim-context.ts";
import { ownWords } from "#services/creating/create-failure.ts";
import { CreateTime } from "#services/creating/create-time.ts";
import { isArmed } from "#life/arm/ask-daemon.ts";
import { type Hooks, hooksDone, runPostStartHooks } from "./post-start-hooks.ts";
import { daemonVariables } from "#services/inside/sandbox-variables.ts";
import { isServiceError } from "#services/service-error.ts";
import { endClaimed } from "#life/claim/end-doubtful-claim.ts";

const concurrency = 16;
/** For pods that say nothing themselves. */
const usualStartupTimeoutMs = 120_000;

/** Since when this process has seen each mark, by its own clock: those of others may differ. */
type Sight = Map<string, { readonly mark: string; readonly at: number }>;

export function startUnfinishedHooks(context: ClaimContext): Controller {
  const sight: Sight = new Map();
  return startController(context, {
    name: "post-start-hooks",
    reconcile: (key, signal) => reconcileHooks(context, sight, key, signal),
    sources: [changesOf(context.cache.pods, { when: (now, before) => isMarked(now) || isMarked(before) })],
    concurrency,
    signal: context.stopped,
  });
}

function isMarked(pod: Pod | undefined): pod is Pod {
  return pod !== undefined && areHooksPending(pod);
}

async function reconcileHooks(context: ClaimContext, sight: Sight, key: Key, signal: AbortSignal): Promise<Requeue> {
  const pod = context.cache.pods.get(key);
  const mark = pod !== undefined && isClaimed(pod) && pod.metadata.deletionTimestamp === undefined ? hooksMarkOf(pod) : undefined;
  if (pod === undefined || mark?.sealed === undefined) {
    sight.delete(formatKey(key));
    return undefined;
  }
  const leftMs = maySeeMs(pod) - seenForMs(context, sight, key, pod);
  if (leftMs > 0) return { afterMs: leftMs };
  if (context.creating.has(sandboxIdOf(pod) ?? "")) return { afterMs: hooksGraceMs };
  // What is frozen answers nothing; the change that wakes it wakes us.
  if (pauseWish(pod) !== undefined || isFrozen(pod)) return undefined;
  return takeOver(context, pod, { ...mark, sealed: mark.sealed }, signal);
}

function maySeeMs(pod: Pod): number {
  return startupTimeoutOf(pod) + hooksGraceMs;
}

function startupTimeoutOf({ metadata }: Pod): number {
  return parseSeconds(metadata.annotations?.[annotationKeys.startupTimeout]) ?? usualStartupTimeoutMs;
}

/** How long this mark, of this life of the pod and this taking over, has been seen. */
function seenForMs({ clock }: ClaimContext, sight: Sight, key: Key, pod: Pod): number {
  const mark = [pod.metadata.uid, sandboxIdOf(pod), pod.metadata.annotations?.[annotationKeys.postStartHooks]].join("/");
  const seen = sight.get(formatKey(key));
  if (seen?.mark === mark) return clock.monotonic() - seen.at;
  sight.set(formatKey(key), { mark, at: clock.monotonic() });
  return 0;
}

type SealedMark = HooksMark & { readonly sealed: string };

async function takeOver(context: ClaimContext, pod: Pod, mark: SealedMark, signal: AbortSignal): Promise<Requeue> {
  const { clock, log } = context;
  const sandboxId = sandboxIdOf(pod) ?? "";
  const hooks = context.hookSeal.open(sandboxId, mark.sealed);
  if (hooks === undefined) {
    log.warn({ sandboxId, pod: pod.metadata.name }, "post-start hooks of another process cannot be opened with this control plane's key");
    return undefined;
  }
  if (!(await isArmed(context.daemons, pod, sandboxId, signal))) return { afterMs: hooksGraceMs };
  const env = await daemonVariables(context)(pod, signal);
  const taken = formatHooksMark({ ...mark, takenAt: formatTime(clock.now()) });
  const patch = podPatch(pod, { annotations: { [annotationKeys.postStartHooks]: taken } });
  const ours = await patchPodAsSeen(context, pod, patch, signal);
  // Lost: the change that won the race wakes us again.
  if (ours === undefined) return undefined;
  log.info({ sandboxId, pod: pod.metadata.name, hooks: hooks.length }, "post-start hooks are run in place of a process that ended");
  await runOrEnd(context, ours, { hooks, env }, signal);
  return undefined;
}

async function runOrEnd(context: ClaimContext, pod: Pod, hooks: Hooks, signal: AbortSignal): Promise<void> {
  using time = new CreateTime({ clock: context.clock, timeoutMs: startupTimeoutOf(pod), stopped: signal });
  try {
    await runPostStartHooks(context, pod, hooks, time.over);
    await hooksDone(context, pod, time.over);
  } catch (error) {
    // Where this process stops, the mark stays for the next one.
    if (time.left.aborted) return;
    if (!isServiceError(error, "hook_failed", "timeout")) throw error;
    const sandboxId = sandboxIdOf(pod) ?? "";
    context.log.warn({ sandboxId, pod: pod.metadata.name, why: ownWords(error) }, "post-start hooks failed");
    await endClaimed(context, pod, {
      sandboxId,
      stopReason: "Failed",
      failureReason: failureReasons.hookFailed,
      failureMessage: ownWords(error),
    });
  }
}
