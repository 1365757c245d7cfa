/** Which volumes a caller has. For a caller, those of others do not exist (I8). */
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { SandboxVolume } from "#model/sandbox-volume.ts";
import type { VolumeCache } from "#volumes/volume-cache.ts";
import { type Caller, mayUse, owns } from "#services/caller.ts";
import { ServiceError } from "#services/service-error.ts";

export type Lookup =
  | { readonly kind: "volume"; readonly volume: SandboxVolume }
  | { readonly kind: "none" }
  | { readonly kind: "several"; readonly ids: readonly string[] };

/** The caller's own volumes and those of its team; for an admin, all. A volume that an admin made without a team belongs to no tenant. */
export function visibleVolumes(volumes: Pick<VolumeCache, "list">, caller: Caller): IteratorObject<SandboxVolume, undefined> {
  return volumes.list().filter((volume) => !wasForced(volume) && (owns(caller, volume) || (hasTeam(volume) && mayUse(caller, volume))));
}

function wasForced({ metadata: { annotations, deletionTimestamp } }: SandboxVolume): boolean {
  return deletionTimestamp !== undefined && annotations?.[annotationKeys.volumeForced] !== undefined;
}

function hasTeam({ metadata: { labels } }: SandboxVolume): boolean {
  return (labels?.[labelKeys.team] ?? "") !== "";
}

/** By id or uid, or by the name in its team. Where a name means several, the caller's own volume goes first. */
export function lookUpVolume(volumes: Pick<VolumeCache, "list">, caller: Caller, nameOrId: string): Lookup {
  const candidates = visibleVolumes(volumes, caller)
    .filter(({ metadata, spec }) => [metadata.name, metadata.uid, spec.name].includes(nameOrId))
    .toArray();
  const byId = candidates.find(({ metadata }) => metadata.name === nameOrId || metadata.uid === nameOrId);
  const volume = byId ?? candidates.find((one) => isVeryOwn(one, caller)) ?? (candidates.length === 1 ? candidates[0] : undefined);
  if (volume !== undefined) return { kind: "volume", volume };
  return candidates.length === 0 ? { kind: "none" } : { kind: "several", ids: candidates.map(idOf).sort() };
}

function isVeryOwn({ metadata: { labels } }: SandboxVolume, { team, user }: Caller): boolean {
  return (labels?.[labelKeys.team] ?? "") === team && (labels?.[labelKeys.user] ?? "") === (user ?? "");
}

export function idOf({ metadata }: SandboxVolume): string {
  return metadata.name ?? "";
}

/** Throws not_found, or conflict where the name means several. */
export function findVolume(volumes: Pick<VolumeCache, "list">, caller: Caller, nameOrId: string): SandboxVolume {
  const found = lookUpVolume(volumes, caller, nameOrId);
  if (found.kind === "volume") return found.volume;
  if (found.kind === "none") throw new ServiceError("not_found", `there is no volume ${JSON.stringify(nameOrId)}`);
  const message = `several volumes are called ${JSON.stringify(nameOrId)}: name one by its id`;
  throw new ServiceError("conflict", message, { available: found.ids });
}
