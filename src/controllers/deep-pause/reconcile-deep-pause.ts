/**
 * Makes checkpoints of sandboxes that are paused deeply, and gives back their pods (model/deep-pause.ts).
 *
 * - `plan-deep-pause.ts`         when, and what is next: pure
 * - `reconcile-deep-pause.ts`    does it
 * - `plan-pause-checkpoint.ts`, `reconcile-pause-checkpoint.ts`   what becomes of the checkpoint
 *
 * The checkpoint itself is taken by controllers/checkpoint, and the pod is wiped by life/recycle, like any other.
 */
import type { EngineAbilities } from "#engine-port/abilities.ts";
import { type Controller, type ControllerDeps, startController } from "#kube/controller/controller.ts";
import type { Key } from "#kube/controller/key.ts";
import { changesOf, type Source } from "#kube/controller/source.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import type { ClaimPressure } from "#life/claim/claim-pressure.ts";
import { endSandbox, type EndDeps } from "#life/end/write-end.ts";
import { patchPodAsSeen } from "#life/patch-pod.ts";
import { deletePaused, holdSandbox } from "#life/record/deep-pauses.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { type Checkpoint, Checkpoints } from "#model/checkpoint.ts";
import { newCheckpointId } from "#model/checkpoint-image.ts";
import { poolOf, sandboxIdOf } from "#model/claimed-pod.ts";
import { isPauseCheckpoint, pausedSandboxText, pausePurpose } from "#model/deep-pause.ts";
import { annotationKeys, finalizers, labelKeys } from "#model/keys.ts";
import { pauseWish } from "#model/pause.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { podsByPoolAndSlot, poolValue, readyIdlePods, slotValue } from "#read-model/indexes.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { formatTime } from "#sandbox/annotation-values.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import { type DeepPausePlan, isPausedInPlace, planDeepPause } from "./plan-deep-pause.ts";

export interface DeepPauseControllerDeps extends EndDeps {
  readonly cache: SandboxCache;
  readonly abilities: Pick<EngineAbilities, "deepPause">;
  /** Left out: no create is known to wait. */
  readonly pressure?: Pick<ClaimPressure, "waiting" | "onWaiting"> | undefined;
}

/** May run at any time, any number of times. */
export async function reconcileDeepPause(deps: DeepPauseControllerDeps, key: Key, signal: AbortSignal): Promise<Requeue> {
  const pod = deps.cache.pods.objects.get(key);
  if (pod === undefined || !isPausedInPlace(pod)) return undefined;
  const { cache, abilities, clock } = deps;
  const plan = planDeepPause(pod, {
    pool: poolOfPod(deps, pod),
    checkpoints: checkpointsOf(cache, sandboxIdOf(pod) ?? ""),
    able: abilities.deepPause(pod.spec.nodeName).able,
    isNeeded: isNeeded(deps, pod),
    now: clock.now(),
  });
  return carryOut(deps, pod, plan, signal);
}

async function carryOut(deps: DeepPauseControllerDeps, pod: Pod, plan: DeepPausePlan, signal: AbortSignal): Promise<Requeue> {
  switch (plan.kind) {
    case "nothing":
      return undefined;
    case "look-again":
      return { afterMs: plan.afterMs, exact: true };
    case "begin":
      deps.cache.checkpoints.remember(await deps.client.create(Checkpoints, checkpointFor(pod)));
      return undefined;
    case "fail":
      return fail(deps, pod, plan, signal);
    case "release":
      await release(deps, pod, plan.checkpoint, signal);
      return undefined;
  }
}

/** In exactly the state that was seen: a sandbox that is wished to run meanwhile stays. */
async function release(deps: DeepPauseControllerDeps, pod: Pod, checkpoint: Checkpoint, signal: AbortSignal): Promise<void> {
  const [sandboxId, deepPaused] = [sandboxIdOf(pod) ?? "", checkpoint.metadata.name ?? ""];
  const outcome = await endSandbox(
    deps,
    pod,
    { sandboxId, deepPaused, stopReason: "Released", expectedPhase: "running", asSeen: true },
    signal,
  );
  if (outcome.kind !== "ended") return;
  await holdSandbox(deps, keyOf(checkpoint));
  deps.log.info({ sandboxId, pod: pod.metadata.name, checkpoint: deepPaused }, "sandbox is paused deeply: it has given back its pod");
}

/** It stays paused as it is, and says why. */
async function fail(
  deps: DeepPauseControllerDeps,
  pod: Pod,
  { message, checkpoint }: Extract<DeepPausePlan, { kind: "fail" }>,
  signal: AbortSignal,
): Promise<undefined> {
  const failure = `${formatTime(deps.clock.now())} ${message}`;
  const patch = podPatch(pod, {
    annotations: { [annotationKeys.deepPauseFailure]: failure },
    removeAnnotations: [annotationKeys.pauseDeep],
  });
  if ((await patchPodAsSeen(deps, pod, patch, signal)) === undefined) return undefined;
  deps.log.warn({ sandboxId: sandboxIdOf(pod), pod: pod.metadata.name, why: message }, "a paused sandbox keeps its pod");
  if (checkpoint !== undefined) await deletePaused(deps, checkpoint);
  return undefined;
}

function checkpointFor(pod: Pod): Checkpoint {
  const { namespace = "", labels = {} } = pod.metadata;
  const { [labelKeys.team]: team, [labelKeys.user]: user } = labels;
  return {
    metadata: {
      namespace,
      name: newCheckpointId(),
      labels: withoutUndefined({ [labelKeys.team]: team, [labelKeys.user]: user, [labelKeys.checkpointPurpose]: pausePurpose }),
      finalizers: [finalizers.checkpointImage],
    },
    spec: { sandboxID: sandboxIdOf(pod) ?? "", pausedSandbox: pausedSandboxText(pod) },
  };
}

/** More requests wait than pods are idle, and no other paused sandbox has waited longer. Each that waits gets one. */
function isNeeded({ cache, pressure }: DeepPauseControllerDeps, pod: Pod): boolean {
  const { namespace = "" } = pod.metadata;
  const pool = poolOf(pod) ?? "";
  if (poolOfPod({ cache }, pod)?.spec.deepPause?.whenNeeded !== true) return false;
  const waiting = pressure?.waiting({ namespace, name: pool }) ?? 0;
  const idle = cache.pods.objects.lookup(readyIdlePods, poolValue({ namespace, pool })).reduce((count) => count + 1, 0);
  const coming = cache.pods.objects
    .lookup(podsByPoolAndSlot, slotValue({ namespace, pool, slot: "stopping" }))
    .reduce((count) => count + 1, 0);
  const wanted = waiting - idle - coming;
  if (wanted <= 0) return false;
  const next = pausedIn(cache, { namespace, name: pool }).sort((left, right) =>
    (pauseWish(left) ?? "") < (pauseWish(right) ?? "") ? -1 : 1,
  );
  return next.slice(0, wanted).some(({ metadata }) => metadata.uid === pod.metadata.uid);
}

function pausedIn(cache: SandboxCache, { namespace = "", name }: Key): Pod[] {
  return cache.pods.objects
    .lookup(podsByPoolAndSlot, slotValue({ namespace, pool: name, slot: "running" }))
    .filter(isPausedInPlace)
    .toArray();
}

function poolOfPod({ cache }: Pick<DeepPauseControllerDeps, "cache">, pod: Pod): SandboxPool | undefined {
  return cache.pools.objects.get({ namespace: pod.metadata.namespace, name: poolOf(pod) ?? "" });
}

function checkpointsOf(cache: SandboxCache, sandboxId: string): readonly Checkpoint[] {
  return cache.checkpoints.objects
    .list()
    .filter(({ spec }) => spec.sandboxID === sandboxId)
    .toArray();
}

export function startDeepPauseController(deps: DeepPauseControllerDeps & ControllerDeps): Controller {
  const { cache } = deps;
  return startController(deps, {
    name: "deep-pause",
    reconcile: (key, signal) => reconcileDeepPause(deps, key, signal),
    sources: [
      changesOf(cache.pods, { when: (now) => now !== undefined && isPausedInPlace(now) }),
      changesOf(cache.checkpoints, {
        when: (now) => now !== undefined && isPauseCheckpoint(now),
        keys: ({ spec }: Checkpoint) => cache.podsOfSandbox(spec.sandboxID).filter(isPausedInPlace).map(keyOf).toArray(),
      }),
      changesOf(cache.pools, { keys: (pool: SandboxPool) => pausedIn(cache, keyOf(pool)).map(keyOf) }),
      whereCreatesWait(deps),
    ],
  });
}

/** The paused sandboxes of a pool in which a create begins to wait. */
function whereCreatesWait({ cache, pressure }: DeepPauseControllerDeps): Source {
  return {
    connect: (add) => {
      const remove = pressure?.onWaiting((pool) => {
        if (cache.pools.objects.get(pool)?.spec.deepPause?.whenNeeded !== true) return;
        for (const pod of pausedIn(cache, pool)) add(keyOf(pod), "first");
      });
      return { whenSynced: async () => {}, remove: remove ?? (() => {}) };
    },
  };
}
