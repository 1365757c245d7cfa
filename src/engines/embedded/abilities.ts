/** The node agent of this machine freezes sandboxes and judges their packets; the store is in the same process. */
import { able, type EngineAbilities, unable } from "#engine-port/abilities.ts";

const users = unable("every pod of this machine has Linux users of its own already, without asking for them");

export const embeddedAbilities: EngineAbilities = {
  pause: () => able,
  egress: () => able,
  userNamespaces: () => users,
  objects: () => able,
};
