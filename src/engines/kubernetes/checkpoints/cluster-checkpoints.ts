/**
 * Checkpoints on a cluster (engine-port/checkpoint-images.ts): images in the registry of the installation, from which any node can pull them.
 *
 * - ask-node.ts                the agent of the sandbox's node puts its files there, as a layer
 * - checkpoint-repository.ts   where they are kept
 * - images/checkpoint/publish-checkpoint.ts   the image of that layer and of those below
 */
import { type CheckpointImages, type CheckpointOrder, CheckpointRefused, type TakenCheckpoint } from "#engine-port/checkpoint-images.ts";
import { findPublished, publishCheckpoint, type PublishDeps, unpublishCheckpoint } from "#images/checkpoint/publish-checkpoint.ts";
import { parseDigest } from "#images/digest.ts";
import { isImageError, type ImageErrorCode } from "#images/image-error.ts";
import type { PullSecret } from "#images/registry/pull-secret.ts";
import type { CheckpointFailure } from "#model/checkpoint.ts";
import type { LayerWish } from "#model/layer-wish.ts";
import type { Pod } from "#model/pod.ts";
import { type AskNodeDeps, askNode, readRunning, sandboxGone } from "./ask-node.ts";
import type { CheckpointRepository } from "./checkpoint-repository.ts";

export interface ClusterCheckpointsDeps extends AskNodeDeps {
  readonly registry: PublishDeps;
  readonly repository: CheckpointRepository;
  /** What the pod's own images are pulled with. */
  readonly pullSecretsOf: (pod: Pod) => Promise<readonly PullSecret[]>;
  /** Bytes that the team's checkpoints have, and may have. */
  readonly room: (team: string) => { readonly used: number; readonly most: number };
}

const mib = 2 ** 20;

export function clusterCheckpoints(deps: ClusterCheckpointsDeps): CheckpointImages {
  const { registry, repository, log } = deps;
  /** A pod carries one wish at a time. */
  const turns = new Map<string, Promise<unknown>>();
  return {
    take: async (order, signal) => {
      const before = turns.get(order.pod.uid);
      const turn = (async () => {
        await before?.catch(() => {});
        return take(deps, order, signal);
      })();
      turns.set(order.pod.uid, turn);
      try {
        return await turn;
      } finally {
        if (turns.get(order.pod.uid) === turn) turns.delete(order.pod.uid);
      }
    },
    remove: async (id) => {
      const isRemoved = await unpublishCheckpoint(registry, { reference: repository.referenceOf(id), secrets: await repository.secrets() });
      if (!isRemoved)
        log.warn({ checkpoint: id }, "the registry removes no images: that of a deleted checkpoint stays there, and nothing uses it");
    },
    // A registry is shared with others, so the name of an image does not say that it is ours. The finalizer of each Checkpoint keeps count.
    list: async () => [],
  };
}

const reasons: Partial<Record<ImageErrorCode, CheckpointFailure>> = { too_large: "TooLarge" };

async function take(deps: ClusterCheckpointsDeps, order: CheckpointOrder, signal: AbortSignal): Promise<TakenCheckpoint> {
  try {
    signal.throwIfAborted();
    const target = { reference: deps.repository.referenceOf(order.id), secrets: await deps.repository.secrets() };
    const known = await findPublished(deps.registry, target, signal);
    if (known !== undefined) return { image: known.image, sizeBytes: known.bytes, frozenMs: 0 };
    const pod = await readRunning(deps, order.pod, signal);
    const wish = { id: order.id, containerId: runningContainer(pod, order.container) };
    checkRoom(deps, order, 0);
    const { digest, size, frozenMs, architecture } = await askNode(deps, order.pod, wish, signal);
    checkRoom(deps, order, size);
    const layer = { digest: parseDigest(digest, "the layer that the node's agent has pushed"), size };
    const baseSecrets = await deps.pullSecretsOf(pod);
    const platform = { os: "linux", architecture };
    const { baseImage: base, config } = order;
    const { image, bytes } = await publishCheckpoint(deps.registry, { ...target, base, baseSecrets, platform, layer, config }, signal);
    return { image, sizeBytes: bytes, frozenMs };
  } catch (error) {
    if (!isImageError(error)) throw error;
    throw new CheckpointRefused(reasons[error.code] ?? "NotPossible", error.message, { cause: error });
  }
}

/** By the id that its runtime knows it by. */
function runningContainer({ spec, status }: Pod, name: string): LayerWish["containerId"] {
  if (spec.hostUsers === false) {
    throw new CheckpointRefused(
      "NotPossible",
      "the pod has Linux users of its own (hostUsers: false), whose files the agent of a node cannot give back their owners yet",
    );
  }
  const found = status?.containerStatuses?.find((one) => one.name === name);
  const { containerID = "" } = found ?? {};
  if (found?.state?.running === undefined || containerID === "") throw sandboxGone();
  return containerID.slice(containerID.indexOf("://") + "://".length);
}

function checkRoom({ room }: ClusterCheckpointsDeps, { team }: CheckpointOrder, bytes: number): void {
  if (team === undefined) return;
  const { used, most } = room(team);
  if (used + bytes <= most && used < most) return;
  throw new CheckpointRefused(
    "LimitReached",
    `team ${team} may have ${Math.floor(most / mib)} MiB of checkpoints (limit imageMiB): it has ${Math.ceil(used / mib)}, and this one is of ${Math.ceil(bytes / mib)} more. Delete checkpoints; an admin can raise it: agentbox limits set --team ${team} imageMiB=N`,
  );
}
