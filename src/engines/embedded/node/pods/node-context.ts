import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Cgroups } from "#engines/embedded/node/cgroups/cgroups.ts";
import type { SandboxNetwork } from "#engines/embedded/node/network/sandbox-network.ts";
import type { NodePaths } from "#engines/embedded/node/node-paths.ts";
import type { Disks } from "#engines/embedded/node/rootfs/disks/choose.ts";
import type { Trash } from "#engines/embedded/node/rootfs/trash.ts";
import type { OciRuntime } from "#engines/embedded/node/runtime/oci-runtime.ts";
import type { RuntimeCommands } from "#engines/embedded/node/runtime/runtime-commands.ts";
import type { MountIdMaps } from "#engines/embedded/node/slots/mount-id-maps.ts";
import type { MountInside } from "#engines/embedded/node/volumes/mount-inside.ts";
import type { VolumeDisks } from "#engines/embedded/node/volumes/volume-disks.ts";
import type { SlotPool } from "#engines/embedded/node/slots/slot-pool.ts";

/** The machine's parts, as pods and containers use them. */
export interface NodeContext {
  readonly paths: NodePaths;
  readonly clock: Clock;
  readonly log: Logger;
  readonly network: SandboxNetwork;
  readonly slots: SlotPool;
  readonly idMaps: MountIdMaps;
  readonly cgroups: Cgroups;
  readonly disks: Disks;
  readonly trash: Trash;
  readonly volumes: VolumeDisks;
  readonly mountInside: MountInside;
  /** The OCI runtime of a runtime class. */
  readonly runtime: (runtimeClassName: string | undefined) => Promise<OciRuntime>;
  /** The same for containers that are there already, even if the machine has the runtime no longer. */
  readonly formerRuntime: (runtimeClassName: string) => Promise<OciRuntime>;
  /** What these runtimes do now. */
  readonly commands: RuntimeCommands;
  /** Of each process in a container; undefined if they inherit our own limits. */
  readonly maxOpenFiles: number | undefined;
  /** What sockets of the whole machine may hold. */
  readonly socketBytes: number;
  /** True if our daemon's folder is there to be mounted. */
  readonly hasDaemon: boolean;
}
