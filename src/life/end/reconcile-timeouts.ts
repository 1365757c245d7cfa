/**
 * Ends sandboxes by the clock: startup timeout, idle timeout, end time; kill or pause. Each sandbox is woken exactly when something may be due, so no loop
 * scans all sandboxes.
 *
 * - `end-verdict.ts`          decides if it is time
 * - `claim-sight.ts`          how old a claim is
 * - `arming-watch.ts`         asks the daemons if they are armed
 * - `timeout-deps.ts`         dependencies, limits, and sources of traffic where there is no gateway
 */
import { tellFailed } from "#life/tell-failed.ts";
import { type Controller, type ControllerDeps, type ControllerOptions, startController } from "#kube/controller/controller.ts";
import type { Key } from "#kube/controller/key.ts";
import { changesOf } from "#kube/controller/source.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import { patchPodAsSeen } from "#life/patch-pod.ts";
import { endSandbox } from "./write-end.ts";
import { isClaimed, poolOf, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { formatTime } from "#sandbox/annotation-values.ts";
import type { EndVerdict } from "#sandbox/end.ts";
import { completionOf } from "#sandbox/images/inplace-completion.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import { lastStatusDetail } from "#sandbox/health/status-note.ts";
import { ClaimSight } from "./claim-sight.ts";
import { endVerdict } from "./end-verdict.ts";
import type { TimeoutDeps } from "./timeout-deps.ts";

type End = Extract<EndVerdict, { kind: "end" }>;

/** Ends one sandbox if its time is over. May run at any time, any number of times. */
export async function reconcileTimeouts(deps: TimeoutDeps, key: Key, signal: AbortSignal): Promise<Requeue> {
  const pod = deps.cache.pods.objects.get(key);
  if (pod === undefined || !isTimed(pod)) {
    deps.arming.forget(key);
    return undefined;
  }
  const verdict = await endVerdict(deps, pod, signal);
  if (verdict.kind === "lives") {
    return verdict.recheckAtMs === undefined ? undefined : { afterMs: verdict.recheckAtMs - deps.clock.now(), exact: true };
  }
  // A write that loses its race is followed by the change that won it, which wakes us again: the owner may have asked for more time.
  await (verdict.action === "kill" ? end(deps, pod, verdict, signal) : pause(deps, pod, verdict, signal));
  return undefined;
}

async function pause(deps: TimeoutDeps, pod: Pod, { action }: End, signal: AbortSignal): Promise<void> {
  const deep = action === "deep-pause" ? { [annotationKeys.pauseDeep]: "true" } : {};
  const patch = podPatch(pod, { annotations: { [annotationKeys.paused]: formatTime(deps.clock.now()), ...deep } });
  if ((await patchPodAsSeen(deps, pod, patch, signal)) === undefined) return;
  deps.log.info({ sandboxId: sandboxIdOf(pod), pod: pod.metadata.name }, "sandbox is paused: its time is over");
}

async function end(deps: TimeoutDeps, pod: Pod, verdict: End, signal: AbortSignal): Promise<void> {
  const sandboxId = sandboxIdOf(pod) ?? "";
  const { stopReason, failureReason } = verdict;
  const failureMessage = `${verdict.failureMessage}${whyNotStarted(pod)}`;
  const outcome = await endSandbox(deps, pod, { sandboxId, stopReason, failureReason, failureMessage, asSeen: true }, signal);
  if (outcome.kind !== "ended") return;
  deps.log.info({ sandboxId, pod: pod.metadata.name, stopReason, failureReason }, "sandbox ended: its time is over");
  if (stopReason === "Failed") tellFailed(deps.events, pod, { failureReason, failureMessage });
  if (sandboxPhaseOf(pod) === "starting") deps.observer.exchanged(pod, { exchange: "starting", result: "failed" });
}

/** For people: what its node says of the pod, or else what of the exchange is missing. */
function whyNotStarted(pod: Pod): string {
  if (sandboxPhaseOf(pod) !== "starting") return "";
  const detail = lastStatusDetail(pod);
  if (detail !== undefined) return `: ${detail.reason}: ${detail.message}`;
  const completion = completionOf(pod);
  return completion.kind === "waiting" ? `: ${completion.why}` : "";
}

/** Daemons and gateways are asked on the way, and some do not answer soon. */
const concurrency = 32;

export function startTimeoutController(
  given: TimeoutDeps & ControllerDeps & { readonly clock: MonotonicClock },
  options: Pick<ControllerOptions, "signal"> = {},
): Controller {
  const sight = new ClaimSight(given.clock);
  const deps = { ...given, sight };
  return startController(deps, {
    name: "idle-timeout",
    reconcile: (key, signal) => reconcileTimeouts(deps, key, signal),
    // Pools are waited for, because a pool has the limit of its starts.
    sources: [
      changesOf(deps.cache.pods, { when: (now, before) => isTimed(now) || isTimed(before) }),
      changesOf(deps.cache.pools, { keys: () => [] }),
    ],
    following: [sight.follow(deps.cache.pods)],
    concurrency,
    ...options,
  });
}

function isTimed(pod: Pod | undefined): pod is Pod {
  return pod !== undefined && poolOf(pod) !== undefined && isClaimed(pod) && pod.metadata.deletionTimestamp === undefined;
}
