/** The volumes of one pod: mounted into its sandbox's container as soon as that is there, and into each that takes its place. */
import type { PodVolumes } from "#engines/embedded/node/pod-runtime.ts";
import type { ProcessIdentity } from "#engines/embedded/node/linux/processes.ts";
import type { Slot } from "#engines/embedded/node/slots/slot.ts";
import type { MountIdMaps } from "#engines/embedded/node/slots/mount-id-maps.ts";
import type { MountInside } from "./mount-inside.ts";
import type { VolumeDisks } from "./volume-disks.ts";

export interface MountContext {
  readonly volumes: Pick<VolumeDisks, "open">;
  readonly mountInside: Pick<MountInside, "mount">;
  readonly idMaps: Pick<MountIdMaps, "get">;
}

export interface MountTarget {
  readonly process: ProcessIdentity;
  readonly slot: Pick<Slot, "firstUid">;
  /** The container's runtime keeps its file systems to itself. */
  readonly opaque: boolean;
}

/** May be repeated: what is mounted already stays as it is. Throws what kept one of them from being mounted. */
export async function mountVolumes(context: MountContext, { process, slot, opaque }: MountTarget, { mounts }: PodVolumes): Promise<void> {
  if (mounts.length === 0) return;
  if (opaque) throw new Error("volumes cannot be mounted into a sandbox of this runtime class: use a pool without runtimeClassName");
  const idMap = await context.idMaps.get(slot.firstUid);
  for (const { uid, name, path, readOnly } of mounts) {
    try {
      const source = await context.volumes.open(uid);
      await context.mountInside.mount({ process, source, path, readOnly, idMap, firstUid: slot.firstUid });
    } catch (error) {
      throw new Error(`volume ${JSON.stringify(name)}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
  }
}
