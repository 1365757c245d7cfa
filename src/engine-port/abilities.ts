/**
 * What an engine can do beyond running pods. Code above the port asks for the ability that it needs, never for the name of the engine. An ability that is
 * missing comes with the sentence that an API answers, because only the engine knows how to change that.
 *
 * The answers may change while a process runs: a node's agent starts, a cluster is upgraded.
 */
export type Ability = { readonly able: true } | { readonly able: false; readonly why: string };

export interface EngineAbilities {
  /** Freezes all processes of a sandbox in place and lets them go on. On this node; without a name: on any node. */
  pause(nodeName?: string): Ability;
  /** Keeps the files of a sandbox as an image (checkpoint-images.ts). On this node; without a name: on any node. */
  checkpoint(nodeName?: string): Ability;
  /** Starts a sandbox again under its id from such an image, so that its pod can be given back meanwhile. On this node; without a name: on any node. */
  deepPause(nodeName?: string): Ability;
  /** Keeps the memory of a sandbox, with its processes. */
  memoryCheckpoint(): Ability;
  /** Holds the connections of single sandboxes to their egress policies. */
  egress(): Ability;
  /** Keeps volumes and mounts them into sandboxes (volumes.ts). */
  volumes(): Ability;
  /** Gives a pod that asks for it (`hostUsers: false`) Linux users of its own. */
  userNamespaces(): Ability;
  /** Answers requests for objects now. An engine that does not is expected back soon. */
  objects(): Ability;
}

export const able: Ability = Object.freeze({ able: true });

export function unable(why: string): Ability {
  return { able: false, why };
}
