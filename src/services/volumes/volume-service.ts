/**
 * Volumes: files with a name and a size that outlive sandboxes.
 *
 * - `volume-service.ts`  make, list, get, delete          - `volume-book.ts`     which a caller has
 * - `volume-contents.ts` the files in one, by its token   - `resolve-mounts.ts`  which a create mounts
 */
import { createHash } from "node:crypto";
import type { EngineAbilities } from "#engine-port/abilities.ts";
import type { Volumes } from "#engine-port/volumes.ts";
import { isApiError } from "#kube/api-error.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { finalizers, labelKeys } from "#model/keys.ts";
import { type SandboxVolume, SandboxVolumes, volumeNameLength, volumeNamePattern, volumeSizes } from "#model/sandbox-volume.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { sandboxesWith, type VolumeCache } from "#volumes/volume-cache.ts";
import { giveData, hideData, takeData } from "#volumes/volume-data.ts";
import { type Caller, owns } from "#services/caller.ts";
import type { LimitGuard } from "#services/limits/limit-guard.ts";
import { ServiceError } from "#services/service-error.ts";
import { translated } from "#services/service-failure.ts";
import { findVolume, idOf, visibleVolumes } from "./volume-book.ts";

export interface VolumeServiceDeps {
  readonly abilities: Pick<EngineAbilities, "volumes">;
  readonly client: ObjectClient;
  readonly cache: Pick<SandboxCache, "listSandboxes">;
  /** Where their objects are. */
  readonly namespace: string;
  /** Of the data of a volume, by its uid. */
  readonly tokenOf: (uid: string) => string;
  readonly guard?: Pick<LimitGuard, "reserve"> | undefined;
  /** Both are set where the engine has volumes. */
  readonly volumes?: VolumeCache | undefined;
  readonly engine?: Volumes | undefined;
}

export interface VolumeView {
  readonly id: string;
  readonly name: string;
  readonly sizeMiB: number;
  /** Room that its files take; left out while that is not known. */
  readonly usedMiB?: number;
  readonly phase: "Pending" | "Ready" | "Failed" | "Deleting";
  readonly message?: string;
  readonly team?: string;
  readonly user?: string;
  readonly createdAt: string;
  /** Sandboxes that have it mounted. */
  readonly mountedBy: readonly string[];
}

export interface VolumeWish {
  readonly name: string;
  readonly sizeMiB?: number;
}

export interface VolumeService {
  make(caller: Caller, wish: VolumeWish): Promise<VolumeView>;
  /** By name. */
  list(caller: Caller): readonly VolumeView[];
  get(caller: Caller, nameOrId: string): Promise<VolumeView>;
  /** Of the data of a volume that the caller may see. */
  tokenOf(caller: Caller, nameOrId: string): string;
  /** Throws conflict while sandboxes have it mounted, unless `force`: then they keep it until they end. */
  remove(caller: Caller, nameOrId: string, options: { readonly force: boolean }): Promise<void>;
}

interface Ready extends VolumeServiceDeps {
  readonly volumes: VolumeCache;
  readonly engine: Volumes;
}

export function volumeService(deps: VolumeServiceDeps): VolumeService {
  return {
    make: (caller, wish) => translated(make(ready(deps), caller, wish)),
    list: (caller) => {
      const there = ready(deps);
      return visibleVolumes(there.volumes, caller)
        .map((volume) => viewOf(there, volume))
        .toArray()
        .sort((a, b) => a.name.localeCompare(b.name) || a.id.localeCompare(b.id));
    },
    get: async (caller, nameOrId) => {
      const there = ready(deps);
      const volume = findVolume(there.volumes, caller, nameOrId);
      const used = await there.engine.usedBytes(volume.metadata.uid ?? "");
      return { ...viewOf(there, volume), ...withoutUndefined({ usedMiB: used === undefined ? undefined : Math.ceil(used / 2 ** 20) }) };
    },
    tokenOf: (caller, nameOrId) => {
      const { volumes, tokenOf } = ready(deps);
      return tokenOf(findVolume(volumes, caller, nameOrId).metadata.uid ?? "");
    },
    remove: (caller, nameOrId, options) => translated(remove(ready(deps), caller, nameOrId, options)),
  };
}

/** Throws not_implemented where the engine has no volumes. */
function ready(deps: VolumeServiceDeps): Ready {
  const { abilities, volumes, engine } = deps;
  const able = abilities.volumes();
  if (!able.able) throw new ServiceError("not_implemented", able.why);
  if (volumes === undefined || engine === undefined) throw new Error("the engine has volumes, and nothing follows them");
  return { ...deps, volumes, engine };
}

const nameText = new RegExp(volumeNamePattern);

async function make(deps: Ready, caller: Caller, { name, sizeMiB = volumeSizes.usualMiB }: VolumeWish): Promise<VolumeView> {
  checkWish(name, sizeMiB);
  const { team, user } = caller;
  using _ = deps.guard?.reserve({ team, user }, { volumes: 1, volumeMiB: sizeMiB });
  const made = await written(deps, caller, { name, sizeMiB });
  try {
    return viewOf(deps, await giveData(deps, made));
  } catch (error) {
    await undo(deps, made);
    throw error;
  }
}

function checkWish(name: string, sizeMiB: number): void {
  if (!nameText.test(name) || name.length > volumeNameLength)
    throw invalid("name", `must have 1 to ${volumeNameLength} letters, digits, hyphens and underscores`);
  const { smallestMiB, largestMiB } = volumeSizes;
  if (!Number.isInteger(sizeMiB) || sizeMiB < smallestMiB || sizeMiB > largestMiB)
    throw invalid("sizeMiB", `must be a whole number from ${smallestMiB} to ${largestMiB}, not ${sizeMiB}`);
}

function invalid(field: string, why: string): ServiceError {
  return new ServiceError("invalid_request", `${field} ${why}`, { field });
}

/** The object is named after its owner and its name: so only one of several requests makes it. */
async function written(
  { client, namespace, volumes }: Ready,
  { team, user = "" }: Caller,
  spec: Required<VolumeWish>,
): Promise<SandboxVolume> {
  const id = createHash("sha256")
    .update(JSON.stringify([team, user, spec.name]))
    .digest("hex")
    .slice(0, 20);
  const labels = { ...(team === "" ? {} : { [labelKeys.team]: team }), ...(user === "" ? {} : { [labelKeys.user]: user }) };
  try {
    const metadata = { namespace, name: `vol-${id}`, labels, finalizers: [finalizers.volumeData] };
    const volume = await client.create(SandboxVolumes, { metadata, spec });
    volumes.objects.remember(volume);
    return volume;
  } catch (error) {
    if (!isApiError(error, "AlreadyExists")) throw error;
    const hint =
      "use it, or choose another name. One that was deleted by force gives its name back when the last sandbox that has it mounted has ended";
    throw new ServiceError("conflict", `there is a volume ${JSON.stringify(spec.name)} already: ${hint}`, {
      field: "name",
    });
  }
}

/** If the undo fails, the loop undoes it later or completes the volume. */
async function undo(deps: Ready, made: SandboxVolume): Promise<void> {
  try {
    await deleted(deps, made);
  } catch {
    // Report the first error.
  }
}

async function remove(deps: Ready, caller: Caller, nameOrId: string, { force }: { readonly force: boolean }): Promise<void> {
  const volume = findVolume(deps.volumes, caller, nameOrId);
  if (!owns(caller, volume))
    throw new ServiceError("forbidden", "this volume belongs to the whole team: only a key of the team can delete it");
  const mountedBy = sandboxesWith(deps.cache, volume.metadata.uid ?? "");
  if (mountedBy.length > 0 && !force) {
    const shown = mountedBy.slice(0, 5).join(", ");
    const more = mountedBy.length > 5 ? ` and ${mountedBy.length - 5} more` : "";
    throw new ServiceError(
      "conflict",
      `the volume ${JSON.stringify(volume.spec.name)} is mounted by ${shown}${more}: end them first, or delete with force`,
      {
        available: mountedBy.slice(0, 100),
      },
    );
  }
  await deleted(deps, volume);
}

async function deleted(deps: Ready, volume: SandboxVolume): Promise<void> {
  const { uid = "" } = volume.metadata;
  try {
    await deps.client.delete(SandboxVolumes, keyOf(volume), { preconditions: { uid } });
  } catch (error) {
    if (isLostRace(error) || isApiError(error, "NotFound")) return;
    throw error;
  }
  const current = await currentOf(deps, volume);
  const isMounted = sandboxesWith(deps.cache, uid).length > 0;
  await (isMounted ? hideData(deps, current) : takeData(deps, current));
}

/** With its deletion on it. */
async function currentOf({ client, volumes }: Ready, volume: SandboxVolume): Promise<SandboxVolume> {
  try {
    const now = await client.get(SandboxVolumes, keyOf(volume));
    volumes.objects.remember(now);
    return now.metadata.uid === volume.metadata.uid ? now : { ...volume, metadata: { ...volume.metadata, finalizers: [] } };
  } catch (error) {
    if (isApiError(error, "NotFound")) return { ...volume, metadata: { ...volume.metadata, finalizers: [] } };
    throw error;
  }
}

function viewOf({ cache }: Ready, volume: SandboxVolume): VolumeView {
  const { metadata, spec, status } = volume;
  const { labels = {}, uid = "", creationTimestamp = "", deletionTimestamp } = metadata;
  return {
    id: idOf(volume),
    name: spec.name,
    sizeMiB: spec.sizeMiB,
    phase: deletionTimestamp === undefined ? (status?.phase ?? "Pending") : "Deleting",
    ...withoutUndefined({ message: status?.message, team: labels[labelKeys.team], user: labels[labelKeys.user] }),
    createdAt: creationTimestamp,
    mountedBy: sandboxesWith(cache, uid),
  };
}
