/** Ends checkpoints of pauses that nothing needs any more, and resumes that a process has left when it ended. */
import { type Controller, type ControllerDeps, startController } from "#kube/controller/controller.ts";
import { formatKey, type Key } from "#kube/controller/key.ts";
import { changesOf } from "#kube/controller/source.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import { type AskDaemonDeps, askServedSandbox } from "#life/arm/ask-daemon.ts";
import { type EndDeps, endSandbox } from "#life/end/write-end.ts";
import { patchPodAsSeen } from "#life/patch-pod.ts";
import { byServer, giveUpAsSeen, recordEnd } from "#life/record/deep-pauses.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { isPauseCheckpoint } from "#model/deep-pause.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { planPauseCheckpoint } from "./plan-pause-checkpoint.ts";

export interface PauseCheckpointDeps extends AskDaemonDeps, EndDeps {
  readonly cache: SandboxCache;
  readonly history: Pick<HistoryStore, "put">;
  /** By checkpoint: since when the daemon of the pod that is to have its sandbox says that it is not armed. */
  readonly unarmedSince: Map<string, number>;
}

/** How often the daemon of a sandbox that is being resumed is asked. The process that resumes it is mostly faster. */
const askEveryMs = 10_000;
/** After so long without arming, nothing goes on with a resume. */
const unarmedMs = 20_000;
const askAgainMs = 200;

/** May run at any time, any number of times. */
export async function reconcilePauseCheckpoint(deps: PauseCheckpointDeps, key: Key, signal: AbortSignal): Promise<Requeue> {
  const { cache, client, log } = deps;
  const known = cache.checkpoints.objects.get(key);
  if (known === undefined) deps.unarmedSince.delete(formatKey(key));
  if (known === undefined || !isPauseCheckpoint(known)) return undefined;
  const { sandboxID } = known.spec;
  if (planPauseCheckpoint(known, podsOf(cache, sandboxID)).kind === "nothing") return undefined;
  // What the pods say must be as old as what the checkpoint says: it is the same before and after they are asked.
  const before = await byServer(deps, key);
  const pods = await podsByServer(deps, sandboxID);
  const checkpoint = await byServer(deps, key);
  if (checkpoint === undefined) return undefined;
  if (before?.metadata.resourceVersion !== checkpoint.metadata.resourceVersion) return { afterMs: askAgainMs };
  const plan = planPauseCheckpoint(checkpoint, pods);
  if (plan.kind === "ask") return finishResume(deps, { key, pod: plan.pod }, signal);
  deps.unarmedSince.delete(formatKey(key));
  if (plan.kind === "record") await recordEnd({ client, cache, history: deps.history }, checkpoint);
  if (plan.kind === "give-up") {
    await giveUpAsSeen({ client, cache }, checkpoint);
    log.info({ sandboxId: sandboxID, checkpoint: key.name }, "the checkpoint of a pause is given up: no sandbox needs it");
  }
  return undefined;
}

/**
 * The process that began the resume may have ended after it armed the sandbox: then it runs. Or before: then nothing arms it any more, and it is in its checkpoint as
 * before. A process that lives arms a sandbox in moments once its container runs.
 */
async function finishResume(
  deps: PauseCheckpointDeps,
  { key, pod }: { readonly key: Key; readonly pod: Pod },
  signal: AbortSignal,
): Promise<Requeue> {
  const sandboxId = sandboxIdOf(pod) ?? "";
  const served = sandboxPhaseOf(pod) === "running" ? await askServedSandbox(deps, pod, signal) : undefined;
  // The checkpoint is given up when the change of the pod is heard of.
  if (served === sandboxId) await patchPodAsSeen(deps, pod, podPatch(pod, { removeAnnotations: [annotationKeys.resumedFrom] }), signal);
  if (unarmedFor(deps, key, served === "") < unarmedMs) return { afterMs: askEveryMs };
  await endSandbox(deps, pod, { sandboxId, stopReason: "Canceled", asSeen: true }, signal);
  deps.log.warn({ sandboxId, pod: pod.metadata.name }, "a resume was begun by a process that has ended: the sandbox is paused as before");
  return undefined;
}

/** By time, because every change of the pod leads to another question. */
function unarmedFor({ unarmedSince, clock }: PauseCheckpointDeps, key: Key, isUnarmed: boolean): number {
  const name = formatKey(key);
  if (!isUnarmed) {
    unarmedSince.delete(name);
    return 0;
  }
  const since = unarmedSince.get(name) ?? clock.now();
  unarmedSince.set(name, since);
  return clock.now() - since;
}

function podsOf(cache: SandboxCache, sandboxId: string): readonly Pod[] {
  return cache.podsOfSandbox(sandboxId).filter(isOnServer(cache)).toArray();
}

/** Each by its own answer of the server: a list that the cache has may be older than what it says of the checkpoint. */
async function podsByServer({ cache, client }: PauseCheckpointDeps, sandboxId: string): Promise<readonly Pod[]> {
  await cache.refreshSandbox(client, sandboxId);
  const pods = await Promise.all(podsOf(cache, sandboxId).map((pod) => cache.readPod(client, keyOf(pod)).catch(() => undefined)));
  return pods.filter((pod) => pod !== undefined && sandboxIdOf(pod) === sandboxId).map((pod) => pod as Pod);
}

/** Not one that only shows a checkpoint. */
function isOnServer({ deepPaused }: SandboxCache): (pod: Pod) => boolean {
  return (pod) => deepPaused.get(keyOf(pod)) === undefined;
}

export function startPauseCheckpointController(given: Omit<PauseCheckpointDeps, "unarmedSince"> & ControllerDeps): Controller {
  const deps = { ...given, unarmedSince: new Map<string, number>() };
  const { cache } = deps;
  const ofSandbox = (pod: Pod): Key[] => cache.deepPaused.checkpointsOf(sandboxIdOf(pod) ?? "").map(keyOf);
  return startController(deps, {
    name: "pause-checkpoint",
    reconcile: (key, signal) => reconcilePauseCheckpoint(deps, key, signal),
    sources: [
      changesOf(cache.checkpoints, { when: (now) => now !== undefined && isPauseCheckpoint(now) }),
      changesOf(cache.pods, { keys: ofSandbox }),
    ],
  });
}
