/**
 * The checkpoint of a deeply paused sandbox, when its pod is about to forget it: in the place of a record, because the sandbox has not ended (model/deep-pause.ts).
 * All of it may be done again, by any process.
 */
import { isApiError } from "#kube/api-error.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient, ObjectKey } from "#kube/object-client.ts";
import { type Checkpoint, Checkpoints, type CheckpointStatus } from "#model/checkpoint.ts";
import { deepPausedPod, podBefore, resumedFrom } from "#model/deep-pause.ts";
import { annotationKeys, failureReasons } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { sandboxBaseFromPod } from "#sandbox/sandbox-base.ts";
import type { HistoryStore } from "#store/history-store.ts";

export interface DeepPauseDeps {
  readonly client: Pick<ObjectClient, "get" | "patch" | "delete">;
  readonly cache: Pick<SandboxCache, "checkpoints">;
}

/**
 * - `kept`: a checkpoint has the sandbox, or had it until another pod did; the pod forgets it without a record
 * - `lost`: a checkpoint was to have it and is gone
 * - `over`: the pod had it, and its end is recorded
 */
export type LeftPod = "kept" | "lost" | "over";

export async function settleDeepPause(deps: DeepPauseDeps, pod: Pod): Promise<LeftPod> {
  const from = resumedFrom(pod);
  const name = leftFor(pod, from);
  const { namespace } = pod.metadata;
  if (name === undefined) {
    if (from !== undefined) await giveUpCheckpoint(deps, { namespace, name: from });
    return "over";
  }
  const key = { namespace, name };
  if (deps.cache.checkpoints.get(key)?.status?.holdsSandbox === true) return "kept";
  if (await holdSandbox(deps, key)) return "kept";
  // The other pod that it was resumed on, or its end, has taken the checkpoint away.
  return from === undefined ? "lost" : "kept";
}

/** The checkpoint that the sandbox has left the pod for. */
function leftFor({ metadata: { annotations = {} } }: Pod, from: string | undefined): string | undefined {
  const { [annotationKeys.deepPaused]: left, [annotationKeys.stopReason]: stopReason } = annotations;
  // A pod that ended by itself during a resume: nothing has written what becomes of its sandbox.
  return left ?? (stopReason === undefined ? from : undefined);
}

/** From now on the checkpoint alone has the sandbox. False when it is gone. */
export async function holdSandbox(deps: DeepPauseDeps, key: ObjectKey): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    const checkpoint = await byServer(deps, key);
    if (checkpoint === undefined || checkpoint.metadata.deletionTimestamp !== undefined) return false;
    if (checkpoint.status?.holdsSandbox === true) return true;
    try {
      await writeStatus(deps, checkpoint, { holdsSandbox: true });
      return true;
    } catch (error) {
      // The loops of a pause and of the pod write the same.
      if (!isLostRace(error) || attempt === maxTries) throw error;
    }
  }
}

const maxTries = 5;

/** A pod has the sandbox, or it has ended: the checkpoint goes, and says nothing of a sandbox any more. */
export async function giveUpCheckpoint(deps: DeepPauseDeps, key: ObjectKey): Promise<void> {
  const checkpoint = await byServer(deps, key);
  if (checkpoint !== undefined) await giveUpAsSeen(deps, checkpoint);
}

/** Throws what a lost race is told by. */
export async function giveUpAsSeen(deps: DeepPauseDeps, checkpoint: Checkpoint): Promise<void> {
  await deletePaused(
    deps,
    checkpoint.status?.holdsSandbox === true ? await writeStatus(deps, checkpoint, { holdsSandbox: false }) : checkpoint,
  );
}

export async function deletePaused({ client, cache }: DeepPauseDeps, { metadata }: Checkpoint): Promise<void> {
  const { namespace, name = "", uid, resourceVersion } = metadata;
  const key = { namespace, name };
  try {
    await client.delete(Checkpoints, key, { preconditions: { uid, resourceVersion } });
    // The next look does not find it, whenever the event comes.
    cache.checkpoints.remember(await client.get(Checkpoints, key));
  } catch (error) {
    if (!isLostRace(error) && !isApiError(error, "NotFound")) throw error;
  }
}

/** Conditional on the version that was seen. */
export async function writeStatus(
  { client, cache }: DeepPauseDeps,
  { metadata: { namespace, name = "", resourceVersion = "" } }: Checkpoint,
  status: Partial<CheckpointStatus> | { readonly resume: null },
): Promise<Checkpoint> {
  const body = { metadata: { resourceVersion }, status: { ...status } };
  const written = await client.patch(Checkpoints, { namespace, name }, { type: "merge", body }, { subresource: "status" });
  cache.checkpoints.remember(written);
  return written;
}

export async function byServer({ client }: Pick<DeepPauseDeps, "client">, key: ObjectKey): Promise<Checkpoint | undefined> {
  try {
    return await client.get(Checkpoints, key);
  } catch (error) {
    if (isApiError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** The owner has ended it: `status.sandboxEnded` says when. Safe to repeat. */
export async function recordEnd(
  deps: DeepPauseDeps & { readonly history: Pick<HistoryStore, "put"> },
  checkpoint: Checkpoint,
): Promise<void> {
  const at = checkpoint.status?.sandboxEnded ?? "";
  const record = recordOfDeepPaused(checkpoint, { stopReason: "Completed" }, at);
  if (record !== undefined) await deps.history.put(record);
  await giveUpAsSeen(deps, checkpoint);
}

/** The record of a sandbox that ends while its checkpoint has it. Undefined for any other checkpoint. */
export function recordOfDeepPaused(checkpoint: Checkpoint, end: EndOfPaused, terminatedAt: string): SandboxRecord | undefined {
  const pod = deepPausedPod(checkpoint);
  const base = pod && sandboxBaseFromPod(pod);
  return base && { ...base, podName: podBefore(checkpoint) ?? "", ...end, status: end.stopReason, terminatedAt };
}

export type EndOfPaused = Pick<SandboxRecord, "failureReason" | "failureMessage"> & { readonly stopReason: "Completed" | "Failed" };

export const checkpointLost: EndOfPaused = {
  stopReason: "Failed",
  failureReason: failureReasons.checkpointLost,
  failureMessage: "the checkpoint that had the paused sandbox was deleted",
};
