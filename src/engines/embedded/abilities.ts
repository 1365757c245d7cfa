/** The node agent of this machine freezes sandboxes, judges their packets and mounts volumes; the store is in the same process. */
import { canKeepVolumes } from "./node/volumes/volume-disks.ts";
import { able, type EngineAbilities, unable } from "#engine-port/abilities.ts";

const users = unable("every pod of this machine has Linux users of its own already, without asking for them");
const noVolumes = unable(
  "this machine cannot keep volumes: they need loop devices (/dev/loop-control) and mkfs.ext4 (apt-get install e2fsprogs)",
);

/** It takes CRIU on the machine, which this version does not use. */
const memory = unable("this version keeps the files of a sandbox and not its memory: ask for a checkpoint without memory");

export const embeddedAbilities: EngineAbilities = {
  pause: () => able,
  checkpoint: () => able,
  deepPause: () => able,
  memoryCheckpoint: () => memory,
  egress: () => able,
  volumes: () => (canKeepVolumes() ? able : noVolumes),
  userNamespaces: () => users,
  objects: () => able,
};
