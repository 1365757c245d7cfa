/** The node agent of this machine freezes sandboxes, judges their packets and mounts volumes; the store is in the same process. */
import { canKeepVolumes } from "./node/volumes/volume-disks.ts";
import { able, type EngineAbilities, unable } from "#engine-port/abilities.ts";

const users = unable("every pod of this machine has Linux users of its own already, without asking for them");
const noVolumes = unable(
  "this machine cannot keep volumes: they need loop devices (/dev/loop-control) and mkfs.ext4 (apt-get install e2fsprogs)",
);

export const embeddedAbilities: EngineAbilities = {
  pause: () => able,
  egress: () => able,
  volumes: () => (canKeepVolumes() ? able : noVolumes),
  userNamespaces: () => users,
  objects: () => able,
};
