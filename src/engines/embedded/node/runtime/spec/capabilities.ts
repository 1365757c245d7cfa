/** Which of root's powers a sandbox's root has, inside its own user namespace. */

import { rootCapabilities } from "#model/root-capabilities.ts";

/** What may be asked for on top. Each is bounded by the sandbox's own namespaces. */
const askable = new Set([...rootCapabilities, "IPC_LOCK", "MKNOD", "NET_RAW", "SYS_NICE", "SYS_PTRACE"]);

/** Names for the specification, from the pod's `capabilities.add` and `.drop`, which leave the prefix out. */
export function resolveCapabilities(add: readonly string[], drop: readonly string[]): string[] {
  const added = add.map(withoutPrefix);
  const refused = added.filter((name) => !askable.has(name));
  if (refused.length > 0) {
    throw new Error(`a sandbox cannot have the capabilities ${refused.join(", ")}; these can be added: ${[...askable].join(", ")}`);
  }
  const dropped = new Set(drop.map(withoutPrefix));
  const kept = dropped.has("ALL") ? [] : rootCapabilities.filter((name) => !dropped.has(name));
  return [...new Set([...kept, ...added])].sort().map((name) => `CAP_${name}`);
}

function withoutPrefix(name: string): string {
  return name.toUpperCase().replace(/^CAP_/, "");
}
