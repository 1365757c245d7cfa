/** Checkpoints of sandboxes on this machine (engine-port/checkpoint-images.ts): what a container has changed becomes an image of the image store. */
import { type CheckpointImages, type CheckpointOrder, CheckpointRefused, type TakenCheckpoint } from "#engine-port/checkpoint-images.ts";
import { type ImageErrorCode, isImageError } from "#images/image-error.ts";
import type { ImageStore } from "#images/image-store.ts";
import type { CheckpointFailure } from "#model/checkpoint.ts";
import { checkpointImage, checkpointIn } from "#model/checkpoint-image.ts";
import type { PodRuntime } from "./pod-runtime.ts";

export interface EmbeddedCheckpointsDeps {
  readonly images: Pick<ImageStore, "saveCheckpoint" | "checkpoints" | "removeCheckpoint">;
  readonly runtime: Pick<PodRuntime, "inspect" | "copyChanges" | "usage">;
  /** In bytes: what a team's images may take. */
  readonly limitOf: (team: string) => number;
  /** Called when a team has more on the disk than before, or less. */
  readonly onChange: () => Promise<unknown>;
}

const reasons: Partial<Record<ImageErrorCode, CheckpointFailure>> = { team_limit: "LimitReached", too_large: "TooLarge" };

export function embeddedCheckpoints(deps: EmbeddedCheckpointsDeps): CheckpointImages {
  return {
    take: (order, signal) => take(deps, order, signal),
    remove: async (id) => {
      await deps.images.removeCheckpoint(checkpointImage(id));
      await deps.onChange();
    },
    list: async () => (await deps.images.checkpoints()).flatMap((name) => checkpointIn(name) ?? []),
  };
}

async function take(deps: EmbeddedCheckpointsDeps, order: CheckpointOrder, signal: AbortSignal): Promise<TakenCheckpoint> {
  const { images, runtime, limitOf } = deps;
  const { id, pod, team, baseImage: base, config } = order;
  const container = await runningContainer(deps, order);
  let frozenMs = 0;
  const copy = async (folder: string): Promise<void> => {
    frozenMs = (await runtime.copyChanges(container, folder, signal)).frozenMs;
    // What ended in between may have been copied only half.
    if ((await runningContainer(deps, order)) !== container) throw ended();
  };
  const budget = team === undefined ? undefined : { team, maxBytes: limitOf(team) };
  try {
    const expectedBytes = (await runtime.usage(pod.uid)).diskBytes;
    const { record, bytes } = await images.saveCheckpoint({ name: checkpointImage(id), base, config, budget, expectedBytes, copy }, signal);
    await deps.onChange();
    return { image: record.name, sizeBytes: bytes, frozenMs };
  } catch (error) {
    if (!isImageError(error)) throw error;
    throw new CheckpointRefused(reasons[error.code] ?? "NotPossible", error.message, { cause: error });
  }
}

async function runningContainer({ runtime }: EmbeddedCheckpointsDeps, { pod, container }: CheckpointOrder): Promise<string> {
  const containers = (await runtime.inspect(pod.uid))?.containers.filter(({ name }) => name === container) ?? [];
  const newest = containers.sort((one, other) => other.attempt - one.attempt)[0];
  if (newest?.state !== "running") throw ended();
  return newest.id;
}

function ended(): CheckpointRefused {
  return new CheckpointRefused("SandboxGone", "the sandbox does not run any more");
}
