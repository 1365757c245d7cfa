/** The node agent of this machine freezes sandboxes and judges their packets; the store is in the same process. */
import { able, type EngineAbilities, unable } from "#engine-port/abilities.ts";

const users = unable("every pod of this machine has Linux users of its own already, without asking for them");

/** It takes CRIU on the machine, which this version does not use. */
const memory = unable("this version keeps the files of a sandbox and not its memory: ask for a checkpoint without memory");

export const embeddedAbilities: EngineAbilities = {
  pause: () => able,
  checkpoint: () => able,
  memoryCheckpoint: () => memory,
  egress: () => able,
  userNamespaces: () => users,
  objects: () => able,
};
