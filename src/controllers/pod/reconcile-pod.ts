/**
 * The life of single pods after the claim, one file per behaviour. Every decision is a pure function of `src/sandbox`; every write is
 * conditional on the state that was looked at, and a race that was lost is left to the change that won it, which wakes us again.
 *
 * - `finish-start.ts`     starting → running, when the exchanged containers prove to be new
 * - `end-restarted.ts`    a running sandbox whose container was replaced by nobody's wish has failed
 * - `finish-stopping.ts`  record, then idle again or replaced
 * - `end-of-pod.ts`       pods that have ended or are deleted: record, delete, let go
 * - `settle-claim.ts`     claims that stand beside their pod come to it
 * - `check-idle.ts`       idle pods that nobody may get
 * - `end-recorder.ts`     ends into the history, once each
 * - `pod-metrics.ts`, `running-info.ts` numbers; `tell-failed.ts` events; `pod-deps.ts` what all of them work with
 *
 * What ends a sandbox by time (startup, idle, end time) is `controllers/idle-timeout`, a loop of its own: it asks daemons and gateways,
 * and a pod that comes back must not wait behind one that does not answer.
 */
import { type Controller, type ControllerDeps, type ControllerOptions, startController } from "#kube/controller/controller.ts";
import type { Key } from "#kube/controller/key.ts";
import { changesOf, type Source } from "#kube/controller/source.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import { podsByPoolAndSlot, slotValue } from "#kube/sandbox-cache/indexes.ts";
import { poolOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { checkIdle } from "./check-idle.ts";
import { deleteRecorded, hasEnded, letGoOfDeleted } from "./end-of-pod.ts";
import { endRestarted } from "./end-restarted.ts";
import { finishStart } from "./finish-start.ts";
import { finishStopping } from "./finish-stopping.ts";
import type { PodDeps } from "./pod-deps.ts";
import { settleClaim } from "./settle-claim.ts";
import { followRunning } from "./running-info.ts";

/** Brings one pod a step further, if one is due. Reads only the cache; may run at any time, any number of times. */
export async function reconcilePod(deps: PodDeps, key: Key, signal: AbortSignal): Promise<Requeue> {
  const pod = deps.cache.pods.objects.get(key);
  if (pod === undefined || poolOf(pod) === undefined) {
    deps.recorder.forget(key);
    return undefined;
  }
  if (pod.metadata.deletionTimestamp !== undefined) {
    await letGoOfDeleted(deps, pod, signal);
    return undefined;
  }
  return reconcilePhase(deps, pod, signal);
}

async function reconcilePhase(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<Requeue> {
  const phase = sandboxPhaseOf(pod);
  // Of another version of ours, or of nobody: not for us to judge.
  if (phase === undefined) return undefined;
  if (hasEnded(pod)) {
    await deleteRecorded(deps, pod, signal);
    return undefined;
  }
  switch (phase) {
    case "idle":
      deps.recorder.forget(keyOf(pod));
      await checkIdle(deps, pod, signal);
      return undefined;
    case "starting":
      await finishStart(deps, pod, signal);
      return undefined;
    case "running":
      await endRestarted(deps, pod, signal);
      return settleClaim(deps, pod, signal);
    case "stopping":
      return finishStopping(deps, pod, signal);
    case "failed":
      await deleteRecorded(deps, pod, signal);
      return undefined;
  }
}

/** History and registry may keep a reconcile waiting; others go on meanwhile. */
const concurrency = 16;

export function startPodController(deps: PodDeps & ControllerDeps, options: Pick<ControllerOptions, "signal"> = {}): Controller {
  const gone = deps.cache.pods.onChange((now, before) => {
    if (now === undefined) deps.events.forget(before?.metadata.uid ?? "");
  });
  return startController(deps, {
    name: "pod",
    reconcile: (key, signal) => reconcilePod(deps, key, signal),
    sources: [changesOf(deps.cache.pods, { keys: ofPool }), orphanedPods(deps)],
    following: [followRunning(deps), () => gone.remove()],
    concurrency,
    ...options,
  });
}

/** When a pool is gone, those of its pods that nobody uses are looked at once more. */
function orphanedPods({ cache }: PodDeps): Source {
  return changesOf(cache.pools, {
    when: (now) => now === undefined,
    keys: ({ metadata: { namespace = "", name = "" } }: SandboxPool) =>
      cache.pods.objects
        .lookup(podsByPoolAndSlot, slotValue({ namespace, pool: name, slot: "idle" }))
        .map(keyOf)
        .toArray(),
  });
}

function ofPool(pod: Pod): readonly Key[] {
  return poolOf(pod) === undefined ? [] : [keyOf(pod)];
}

function keyOf({ metadata: { namespace, name = "" } }: Pod): Key {
  return { namespace, name };
}
