/**
 * Creates the data of a volume, and removes it. Requests that create or delete a volume call this and wait for it. The loop calls it for what a dead process
 * left unfinished. Both may run at the same time, any number of times.
 */
import type { Volumes } from "#engine-port/volumes.ts";
import { isApiError } from "#kube/api-error.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { annotationKeys, finalizers } from "#model/keys.ts";
import { type SandboxVolume, SandboxVolumes } from "#model/sandbox-volume.ts";
import type { VolumeCache } from "./volume-cache.ts";

export interface VolumeDataDeps {
  readonly client: Pick<ObjectClient, "patch">;
  readonly volumes: Pick<VolumeCache, "objects">;
  readonly engine: Pick<Volumes, "make" | "remove">;
}

const mebibyte = 2 ** 20;

/** The finalizer first: data without it would stay for ever when the object is deleted. */
export async function giveData(deps: VolumeDataDeps, volume: SandboxVolume): Promise<SandboxVolume> {
  const held = await hold(deps, volume);
  const { uid = "" } = held.metadata;
  await deps.engine.make(uid, held.spec.sizeMiB * mebibyte);
  const ready = await deps.client.patch(
    SandboxVolumes,
    keyOf(held),
    { type: "merge", body: { metadata: { uid }, status: { phase: "Ready" } } },
    { subresource: "status" },
  );
  deps.volumes.objects.remember(ready);
  return ready;
}

async function hold(deps: VolumeDataDeps, volume: SandboxVolume): Promise<SandboxVolume> {
  const { finalizers: present = [], resourceVersion = "" } = volume.metadata;
  if (present.includes(finalizers.volumeData)) return volume;
  const body = { metadata: { resourceVersion, finalizers: [...present, finalizers.volumeData] } };
  return deps.client.patch(SandboxVolumes, keyOf(volume), { type: "merge", body });
}

/** Of a volume that is being deleted. The data goes before the object: after that nothing would know of it. */
export async function takeData({ client, engine }: VolumeDataDeps, volume: SandboxVolume): Promise<void> {
  const { uid = "", finalizers: present = [], resourceVersion = "" } = volume.metadata;
  if (!present.includes(finalizers.volumeData)) return;
  await engine.remove(uid);
  const body = { metadata: { resourceVersion, finalizers: present.filter((name) => name !== finalizers.volumeData) } };
  try {
    await client.patch(SandboxVolumes, keyOf(volume), { type: "merge", body });
  } catch (error) {
    if (!isApiError(error, "NotFound") && !isLostRace(error)) throw error;
  }
}

/**
 * Of a volume that is deleted while sandboxes have it mounted: nothing else gets at its files any more. The object stays, and counts for the limits of its
 * owner, until the last of those sandboxes is gone: until then the files take their room.
 */
export async function hideData({ client, engine, volumes }: VolumeDataDeps, volume: SandboxVolume): Promise<void> {
  const { uid = "", finalizers: present = [] } = volume.metadata;
  if (!present.includes(finalizers.volumeData)) return;
  await engine.remove(uid);
  const body = { metadata: { uid, annotations: { [annotationKeys.volumeForced]: "true" } } };
  try {
    volumes.objects.remember(await client.patch(SandboxVolumes, keyOf(volume), { type: "merge", body }));
  } catch (error) {
    if (!isApiError(error, "NotFound") && !isLostRace(error)) throw error;
  }
}
