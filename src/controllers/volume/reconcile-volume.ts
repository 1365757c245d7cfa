/**
 * Finishes what requests began and did not live to end: a volume without data gets it, and one that is deleted gives it back once no sandbox has it
 * mounted any more.
 */
import { type Controller, type ControllerDeps, startController } from "#kube/controller/controller.ts";
import type { Key } from "#kube/controller/key.ts";
import { changesOf } from "#kube/controller/source.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { sandboxesWith } from "#volumes/volume-cache.ts";
import type { VolumeCache } from "#volumes/volume-cache.ts";
import { giveData, takeData, type VolumeDataDeps } from "#volumes/volume-data.ts";

export interface VolumeControllerDeps extends ControllerDeps, VolumeDataDeps {
  readonly clock: MonotonicClock;
  readonly cache: Pick<SandboxCache, "listSandboxes">;
  readonly volumes: VolumeCache;
}

/** A request that made the volume is about to give it its data itself. */
const patienceMs = 30_000;
const mountedMs = 5_000;

export function startVolumeController(deps: VolumeControllerDeps): Controller {
  return startController(deps, {
    name: "volume",
    sources: [changesOf(deps.volumes.objects)],
    reconcile: (key) => reconcileVolume(deps, key),
  });
}

async function reconcileVolume(deps: VolumeControllerDeps, key: Key): Promise<Requeue> {
  const volume = deps.volumes.objects.objects.get(key);
  if (volume === undefined) return undefined;
  const { deletionTimestamp, creationTimestamp = "", uid = "" } = volume.metadata;
  if (deletionTimestamp !== undefined) {
    if (sandboxesWith(deps.cache, uid).length > 0) return { afterMs: mountedMs };
    await takeData(deps, volume);
    return undefined;
  }
  if (volume.status?.phase === "Ready") return undefined;
  const age = deps.clock.now() - Date.parse(creationTimestamp);
  if (age < patienceMs) return { afterMs: patienceMs - age };
  try {
    await giveData(deps, volume);
  } catch (error) {
    // It has changed meanwhile, and that calls this loop again.
    if (!isLostRace(error)) throw error;
  }
  return undefined;
}
