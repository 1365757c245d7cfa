/** Filters the live sandboxes of a list. Pure. */
import type { Sandbox } from "#client/sandbox-types.ts";

export interface SandboxFilter {
  /** Searches id, pool, Env, template, owner and metadata; key=value searches the metadata. All words must match. */
  readonly text: string;
  readonly status: string;
  readonly pool: string;
}

export function filterSandboxes(sandboxes: readonly Sandbox[], { text, status, pool }: SandboxFilter): readonly Sandbox[] {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  if (words.length === 0 && status === "" && pool === "") return sandboxes;
  return sandboxes.filter((sandbox) => {
    if (status !== "" && sandbox.status !== status) return false;
    if (pool !== "" && sandbox.poolName !== pool) return false;
    return words.every((word) => has(sandbox, word));
  });
}

function has({ sandboxId, poolName, envName = "", templateName = "", team, user, metadata }: Sandbox, word: string): boolean {
  if ([sandboxId, poolName, envName, templateName, team, user].some((text) => text.toLowerCase().includes(word))) return true;
  return Object.entries(metadata).some(([key, value]) => `${key}=${value}`.toLowerCase().includes(word));
}
