/**
 * Finishes what requests began and could not complete: creates missing data of volumes, and removes the data of deleted volumes once no sandbox has them
 * mounted. Where the engine has no volumes, their status says so.
 */
import { type Controller, type ControllerDeps, startController } from "#kube/controller/controller.ts";
import type { Key } from "#kube/controller/key.ts";
import { changesOf } from "#kube/controller/source.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import type { EngineAbilities } from "#engine-port/abilities.ts";
import type { Volumes } from "#engine-port/volumes.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { finalizers, notImplemented } from "#model/keys.ts";
import { type SandboxVolume, SandboxVolumes } from "#model/sandbox-volume.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { sandboxesWith, type VolumeCache } from "#volumes/volume-cache.ts";
import { giveData, takeData, type VolumeDataDeps } from "#volumes/volume-data.ts";

export interface VolumeControllerDeps extends ControllerDeps, Omit<VolumeDataDeps, "engine"> {
  readonly client: Pick<ObjectClient, "patch">;
  readonly abilities: Pick<EngineAbilities, "volumes">;
  /** Where the engine has volumes. */
  readonly engine?: Volumes | undefined;
  readonly clock: MonotonicClock;
  readonly cache: Pick<SandboxCache, "listSandboxes">;
  readonly volumes: VolumeCache;
}

/** The request that created the volume holds it, and is about to create its data itself. */
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
  const { engine } = deps;
  const volume = deps.volumes.objects.objects.get(key);
  if (volume === undefined) return undefined;
  if (engine === undefined) return refuse(deps, volume);
  if (volume.metadata.deletionTimestamp !== undefined) return whenFree({ ...deps, engine }, volume);
  if (volume.status?.phase === "Ready") return undefined;
  const early = tooEarly(volume, deps.clock.now());
  if (early > 0) return { afterMs: early };
  try {
    await giveData({ ...deps, engine }, volume);
  } catch (error) {
    // The volume has changed meanwhile, and that change calls this loop again.
    if (!isLostRace(error)) throw error;
  }
  return undefined;
}

async function whenFree(deps: VolumeControllerDeps & VolumeDataDeps, volume: SandboxVolume): Promise<Requeue> {
  if (sandboxesWith(deps.cache, volume.metadata.uid ?? "").length > 0) return { afterMs: mountedMs };
  await takeData(deps, volume);
  return undefined;
}

/** For how long a request may still be at it. One that was applied is held by nothing yet, and waits for this loop alone. */
function tooEarly({ metadata: { creationTimestamp = "", finalizers: held = [] } }: SandboxVolume, now: number): number {
  return held.includes(finalizers.volumeData) ? Date.parse(creationTimestamp) + patienceMs - now : 0;
}

/** The object is stored although this engine has no volumes, so its status says that. */
async function refuse({ abilities, client, volumes }: VolumeControllerDeps, volume: SandboxVolume): Promise<undefined> {
  const able = abilities.volumes();
  if (able.able || volume.status?.phase !== undefined) return;
  const { namespace, name = "", resourceVersion = "" } = volume.metadata;
  const status = { phase: "Failed", message: `${notImplemented}: ${able.why}` };
  const body = { metadata: { resourceVersion }, status };
  try {
    volumes.objects.remember(await client.patch(SandboxVolumes, { namespace, name }, { type: "merge", body }, { subresource: "status" }));
  } catch (error) {
    if (!isLostRace(error)) throw error;
  }
}
