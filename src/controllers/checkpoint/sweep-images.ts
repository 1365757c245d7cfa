/** Removes images whose checkpoints are gone: a finalizer that was taken off by hand, or data that was restored from before they were made. */
import type { CheckpointImages } from "#engine-port/checkpoint-images.ts";
import type { Clock, Timer } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { checkpointIdOf } from "#model/checkpoint-image.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { isCheckpointNamed } from "./named-images.ts";

export interface ImageSweepDeps {
  readonly cache: SandboxCache;
  readonly checkpoints: CheckpointImages;
  readonly clock: Clock;
  readonly log: Logger;
}

const firstMs = 60_000;
const everyMs = 10 * 60_000;

export function startImageSweep(deps: ImageSweepDeps): Timer {
  let timer: Timer | undefined;
  let isOver = false;
  const again = (ms: number): void => {
    if (isOver) return;
    timer = deps.clock.after(ms, () => {
      sweepImages(deps)
        .catch((error: unknown) => deps.log.warn({ error }, "images of former checkpoints were not looked for"))
        .finally(() => again(everyMs));
    });
  };
  again(firstMs);
  return {
    cancel: () => {
      isOver = true;
      timer?.cancel();
    },
  };
}

export async function sweepImages({ cache, checkpoints, log }: ImageSweepDeps): Promise<void> {
  const { healthy } = cache.health();
  // An image is made only after its object was in the cache: one that is missing there is gone, as long as the cache is whole.
  if (!healthy) return;
  const kept = await checkpoints.list();
  const known = new Set(cache.checkpoints.objects.list().map(checkpointIdOf));
  for (const id of kept) {
    if (known.has(id) || isCheckpointNamed(cache, id)) continue;
    await checkpoints.remove(id);
    log.warn({ checkpoint: id }, "an image whose checkpoint is gone was removed");
  }
}
