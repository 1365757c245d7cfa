/**
 * Takes the checkpoints that are asked for, and keeps them as long as they are wanted.
 *
 * - `plan-checkpoint.ts`        what is to be done about one: pure
 * - `reconcile-checkpoint.ts`   does it
 * - `named-images.ts`           whether an image may go
 * - `sweep-images.ts`           images that no checkpoint has any more
 *
 * A checkpoint that was being taken when the process died is taken again: the engine leaves nothing half done, and finds what was whole.
 */
import { type CheckpointImages, type CheckpointOrder, CheckpointRefused } from "#engine-port/checkpoint-images.ts";
import type { EngineAbilities } from "#engine-port/abilities.ts";
import { isApiError } from "#kube/api-error.ts";
import { type Controller, type ControllerDeps, startController } from "#kube/controller/controller.ts";
import type { Key } from "#kube/controller/key.ts";
import { changesOf } from "#kube/controller/source.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import { isLostRace } from "#kube/lost-race.ts";
import { endSandbox, type EndDeps } from "#life/end/write-end.ts";
import { checkpointLost, recordOfDeepPaused } from "#life/record/deep-pauses.ts";
import type { Clock } from "#lib/clock.ts";
import type { Place } from "#lib/lanes.ts";
import { type Checkpoint, Checkpoints, type CheckpointStatus } from "#model/checkpoint.ts";
import { checkpointIdOf } from "#model/checkpoint-image.ts";
import { isClaimed, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { finalizers, labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { formatTime } from "#sandbox/annotation-values.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { isCheckpointNamed } from "./named-images.ts";
import { type CheckpointPlan, orderFor, planCheckpoint } from "./plan-checkpoint.ts";
import { startImageSweep } from "./sweep-images.ts";

export interface CheckpointControllerDeps extends ControllerDeps, EndDeps {
  readonly clock: Clock;
  readonly cache: SandboxCache;
  readonly abilities: Pick<EngineAbilities, "checkpoint">;
  readonly history: Pick<HistoryStore, "put">;
  /** Left out where the ability is missing. */
  readonly checkpoints?: CheckpointImages | undefined;
}

/**
 * A copy is work for the disk: more at once would only make each sandbox stand still for longer. The last place is for an owner that has none, so large
 * sandboxes of one team do not hold up the others.
 */
function placesOf({ cache }: CheckpointControllerDeps, key: Key): readonly Place[] {
  const checkpoint = cache.checkpoints.objects.get(key);
  const own = `team ${checkpoint?.metadata.labels?.[labelKeys.team] ?? ""}`;
  return [
    { name: "all", most: 4, kept: { count: 2, unless: own } },
    { name: own, most: 2 },
  ];
}

export function startCheckpointController(deps: CheckpointControllerDeps): Controller {
  const { checkpoints } = deps;
  const sweep = checkpoints === undefined ? undefined : startImageSweep({ ...deps, checkpoints });
  return startController(deps, {
    name: "checkpoint",
    reconcile: (key, signal) => reconcileCheckpoint(deps, key, signal),
    sources: [changesOf(deps.cache.checkpoints)],
    places: (key) => placesOf(deps, key),
    following: sweep === undefined ? [] : [() => sweep.cancel()],
  });
}

/** May run at any time, any number of times. */
export async function reconcileCheckpoint(deps: CheckpointControllerDeps, key: Key, signal: AbortSignal): Promise<Requeue> {
  const checkpoint = deps.cache.checkpoints.objects.get(key);
  if (checkpoint === undefined) return undefined;
  const pod = await podOf(deps, checkpoint);
  const able = deps.abilities.checkpoint(pod?.spec.nodeName);
  const plan = planCheckpoint(checkpoint, {
    pod,
    unable: able.able ? undefined : able.why,
    isNamed: checkpoint.metadata.deletionTimestamp !== undefined && isCheckpointNamed(deps.cache, checkpointIdOf(checkpoint)),
    now: deps.clock.now(),
  });
  try {
    return await carryOut(deps, checkpoint, plan, signal);
  } catch (error) {
    // It changed meanwhile: the event of that change wakes us again.
    if (!isLostRace(error)) throw error;
    return undefined;
  }
}

/** A sandbox that another process claimed a moment ago may not be in the cache. */
async function podOf({ cache, client }: CheckpointControllerDeps, { metadata, spec, status }: Checkpoint): Promise<Pod | undefined> {
  const find = (): Pod | undefined => cache.podsOfSandbox(spec.sandboxID).find(isClaimed);
  const found = find();
  const isAsked = metadata.deletionTimestamp === undefined && status?.phase !== "Succeeded" && status?.phase !== "Failed";
  if (found !== undefined || !isAsked) return found;
  await cache.refreshSandbox(client, spec.sandboxID);
  return find();
}

async function carryOut(
  deps: CheckpointControllerDeps,
  checkpoint: Checkpoint,
  plan: CheckpointPlan,
  signal: AbortSignal,
): Promise<Requeue> {
  switch (plan.kind) {
    case "nothing":
      return undefined;
    case "look-again":
      return { afterMs: plan.afterMs };
    case "hold":
      await patch(deps, checkpoint, { metadata: { finalizers: [...(checkpoint.metadata.finalizers ?? []), finalizers.checkpointImage] } });
      return undefined;
    case "take":
      return take(deps, checkpoint, plan, signal);
    case "fail":
      await finish(deps, checkpoint, { phase: "Failed", reason: plan.reason, message: plan.message });
      return undefined;
    case "end-sandbox":
      await endSandbox(deps, plan.pod, { sandboxId: checkpoint.spec.sandboxID, stopReason: "Released" }, signal);
      return undefined;
    case "delete":
      await remove(deps, checkpoint);
      return undefined;
    case "remove":
      await recordLost(deps, checkpoint);
      await deps.checkpoints?.remove(checkpointIdOf(checkpoint));
      await patch(deps, checkpoint, {
        metadata: { finalizers: (checkpoint.metadata.finalizers ?? []).filter((one) => one !== finalizers.checkpointImage) },
      });
      return undefined;
  }
}

/** A person has deleted the checkpoint that a paused sandbox was. */
async function recordLost({ history, clock, cache }: CheckpointControllerDeps, checkpoint: Checkpoint): Promise<void> {
  if (checkpoint.status?.holdsSandbox !== true || cache.podsOfSandbox(checkpoint.spec.sandboxID).some(isClaimed)) return;
  const record = recordOfDeepPaused(checkpoint, checkpointLost, formatTime(clock.now()));
  // The first end that is stored stays: one that its owner has ended has its record.
  if (record !== undefined) await history.put(record);
}

async function take(
  deps: CheckpointControllerDeps,
  seen: Checkpoint,
  { pod, status }: Extract<CheckpointPlan, { kind: "take" }>,
  signal: AbortSignal,
): Promise<Requeue> {
  const startTime = seen.status?.startTime ?? formatTime(deps.clock.now());
  const checkpoint = await writeStatus(deps, seen, { ...status, phase: "Creating", startTime });
  await finish(deps, checkpoint, await taken(deps, checkpoint, orderFor(checkpoint, pod), signal));
  return undefined;
}

/** What came of it. Throws when the process ends, and the next one is to try again. */
async function taken(
  deps: CheckpointControllerDeps,
  { spec }: Checkpoint,
  order: CheckpointOrder,
  signal: AbortSignal,
): Promise<CheckpointStatus> {
  const about = { checkpoint: order.id, sandboxId: spec.sandboxID };
  try {
    if (deps.checkpoints === undefined) throw new CheckpointRefused("NotImplemented", "this server keeps no images of checkpoints");
    const { image, sizeBytes, frozenMs } = await deps.checkpoints.take(order, signal);
    if (!(await stillCarries(deps, order, spec.sandboxID))) {
      await deps.checkpoints.remove(order.id);
      throw new CheckpointRefused("SandboxGone", `sandbox ${spec.sandboxID} ended meanwhile`);
    }
    deps.log.info({ ...about, image, sizeBytes, frozenMs }, "checkpoint taken");
    return { phase: "Succeeded", checkpointId: order.id, image, sizeBytes };
  } catch (error) {
    signal.throwIfAborted();
    // Whether the sandbox is still there is not known: it is asked again, and the image is found.
    if (isApiError(error)) throw error;
    deps.log.warn({ ...about, error }, "checkpoint not taken");
    const reason = error instanceof CheckpointRefused ? error.reason : "NotPossible";
    return { phase: "Failed", reason, message: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * By the server's word, after the copy. The cache may be late, and a pod goes from one sandbox to the next: without this look an image could hold the
 * files of another tenant. A sandbox is on a pod once, so one that is still there was there all the time.
 */
async function stillCarries({ client, cache }: CheckpointControllerDeps, { pod }: CheckpointOrder, sandboxId: string): Promise<boolean> {
  try {
    const now = await cache.readPod(client, { namespace: pod.namespace, name: pod.name });
    return now.metadata.uid === pod.uid && sandboxIdOf(now) === sandboxId && sandboxPhaseOf(now) === "running";
  } catch (error) {
    if (isApiError(error, "NotFound")) return false;
    throw error;
  }
}

function finish(deps: CheckpointControllerDeps, checkpoint: Checkpoint, status: CheckpointStatus): Promise<Checkpoint> {
  return writeStatus(deps, checkpoint, { ...status, completionTime: formatTime(deps.clock.now()) });
}

async function writeStatus(
  { client, cache }: CheckpointControllerDeps,
  { metadata }: Checkpoint,
  status: CheckpointStatus,
): Promise<Checkpoint> {
  const { namespace, name = "", resourceVersion = "" } = metadata;
  const body = { metadata: { resourceVersion }, status: { ...status } };
  const written = await client.patch(Checkpoints, { namespace, name }, { type: "merge", body }, { subresource: "status" });
  cache.checkpoints.remember(written);
  return written;
}

/** Conditional on the version that was seen. */
async function patch(
  { client, cache }: CheckpointControllerDeps,
  { metadata: { namespace, name = "", resourceVersion = "" } }: Checkpoint,
  { metadata }: { readonly metadata: { readonly finalizers: readonly string[] } },
): Promise<void> {
  const body = { metadata: { resourceVersion, finalizers: [...metadata.finalizers] } };
  cache.checkpoints.remember(await client.patch(Checkpoints, { namespace, name }, { type: "merge", body }));
}

async function remove({ client }: CheckpointControllerDeps, { metadata: { namespace, name = "", uid = "" } }: Checkpoint): Promise<void> {
  await client.delete(Checkpoints, { namespace, name }, { preconditions: { uid } });
}
