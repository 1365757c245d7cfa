/**
 * The life of single pods after the claim, one file per behaviour. Every decision is a pure function (`plan-*.ts`, `src/sandbox`); every write is
 * conditional on the state that was looked at, and a race that was lost is left to the change that won it, which wakes us again.
 *
 * - `arm/finish-start.ts`         starting → running, when the exchanged containers prove to be new
 * - `end/end-of-pod.ts`           sandboxes that end with their container or their pod: record, delete, remove the finalizer
 * - `recycle/finish-recycle.ts`   record, then idle again or deleted
 * - `record/end-recorder.ts`      ends into the history, once each; `record/keep-log.ts` their logs
 * - `claim/settle-claim.ts`       claims that stand beside their pod come to it
 * - `pod-metrics.ts`, `running-info.ts` numbers; `tell-failed.ts` events; `pod-deps.ts` what all of them work with
 *
 * What ends a sandbox by time (startup, idle, end time) is `life/end/reconcile-timeouts.ts`, a loop of its own: it asks daemons and gateways,
 * and a pod that comes back must not wait behind one that does not answer.
 */
import { type Controller, type ControllerDeps, type ControllerOptions, startController } from "#kube/controller/controller.ts";
import type { Key } from "#kube/controller/key.ts";
import { changesOf, type Source } from "#kube/controller/source.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import { podsByPoolAndSlot, slotValue } from "#read-model/indexes.ts";
import { poolOf, sandboxPhaseOf, sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { deleteRecorded, endRestarted, finishDeleted, hasEnded } from "./end/end-of-pod.ts";
import { finishStart } from "./arm/finish-start.ts";
import { finishStopping } from "./recycle/finish-recycle.ts";
import type { PodDeps } from "./pod-deps.ts";
import { settleClaim } from "./claim/settle-claim.ts";
import { followRunning } from "./running-info.ts";
import { isApiError } from "#kube/api-error.ts";
import { isFresh } from "#sandbox/claimable.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import { patchPodAsSeen } from "./patch-pod.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import { planStatusNote } from "#sandbox/health/status-note.ts";

/** Brings one pod a step further, if one is due. Reads only the cache; may run at any time, any number of times. */
export async function reconcilePod(deps: PodDeps, key: Key, signal: AbortSignal): Promise<Requeue> {
  const pod = deps.cache.pods.objects.get(key);
  if (pod === undefined || poolOf(pod) === undefined) {
    deps.recorder.forget(key);
    deps.logs?.forget(key);
    return undefined;
  }
  if (pod.metadata.deletionTimestamp !== undefined) {
    await finishDeleted(deps, pod, signal);
    return undefined;
  }
  return reconcilePhase(deps, pod, signal);
}

async function reconcilePhase(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<Requeue> {
  const phase = sandboxPhaseOf(pod);
  // Of another version of AgentBox, or not one of our pods: not ours to judge.
  if (phase === undefined) return undefined;
  if (hasEnded(pod)) {
    await deleteRecorded(deps, pod, signal);
    return undefined;
  }
  switch (phase) {
    case "idle":
      deps.recorder.forget(keyOf(pod));
      deps.logs?.forget(keyOf(pod));
      await checkIdle(deps, pod, signal);
      return noteStatus(deps, pod, signal);
    case "starting":
      await finishStart(deps, pod, signal);
      return noteStatus(deps, pod, signal);
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

/** When a pool is deleted, its unused pods are reconciled once more. */
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

/** Idle pods that must not be claimed: they still show a sandbox, were not recycled completely (W1), or have no pool. */
async function checkIdle(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<void> {
  const why = isFresh(pod) ? await whyOrphaned(deps, pod, signal) : "it is not known to be unused";
  if (why === undefined) return;
  deps.log.warn({ sandboxId: sandboxIdOf(pod), pod: pod.metadata.name, why }, "idle pod is deleted");
  await deleteRecorded(deps, pod, signal);
}

/** The cache of pools may be behind that of pods, so the server is asked before a pod goes for it. */
async function whyOrphaned({ cache, client }: PodDeps, pod: Pod, signal: AbortSignal): Promise<string | undefined> {
  const key = { namespace: pod.metadata.namespace, name: poolOf(pod) ?? "" };
  if (cache.pools.objects.get(key) !== undefined) return undefined;
  try {
    await client.get(SandboxPools, key, { signal });
    return undefined;
  } catch (error) {
    if (isApiError(error, "NotFound")) return "its pool is gone";
    throw error;
  }
}

/**
 * Notes on a pod why it does not start, and takes the note away when it has (`sandbox/health/status-note.ts`).
 *
 * After the other behaviours of the pod: one of them may have written it, or deleted it, so it is looked at anew.
 */
async function noteStatus(deps: PodDeps, seen: Pod, signal: AbortSignal): Promise<Requeue> {
  const pod = deps.cache.pods.objects.get(keyOf(seen));
  if (pod === undefined || pod.metadata.uid !== seen.metadata.uid || pod.metadata.deletionTimestamp !== undefined) return undefined;
  const plan = planStatusNote(pod, deps.clock.now());
  if (plan.kind === "later") return { afterMs: plan.afterMs };
  if (plan.kind === "write") await patchPodAsSeen(deps, pod, podPatch(pod, plan.change), signal);
  return undefined;
}
