/** New user and network namespaces. A process cannot give itself one while it has threads, so a helper is born into it. */
import { closeSync, openSync, writeFileSync } from "node:fs";
import { systemClock } from "#lib/clock.ts";
import { progressOfTree, withinHostDeadline } from "./host-deadline.ts";
import { systemCall } from "./libc.ts";
import { type SmallShell, withSmallShell } from "./small-shell.ts";

const networkKind = 0x4000_0000;

/** How many ids a sandbox has: 0 to 65535, as many as old programs can count. */
export const idsPerRange = 65_536;

export interface NamespaceOptions {
  readonly network: boolean;
  /** Lines of uid_map and gid_map. */
  readonly idMap: string;
  /**
   * The user of the machine that the user namespace belongs to; root without one. What a process takes of the kernel's
   * quotas (inotify instances, queues, pending signals, locked memory) counts for the owner of its namespace too.
   */
  readonly owner?: number;
}

/**
 * Runs `use` while a helper process lives in new namespaces. To keep a namespace after that, mount `ns/user` or `ns/net` of the given
 * folder, or hold a descriptor of it.
 */
export function withNewNamespaces<T>({ network, idMap, owner }: NamespaceOptions, use: (folder: string) => T): Promise<T> {
  return withSmallShell(async (shell) => {
    // It says its number when it is in the new namespaces, and stays until it hears a line.
    shell.send(
      `${owner === undefined ? "" : asUser(owner)} unshare --user ${network ? "--net" : ""} sh -c 'echo $$; read end' 2>&1\necho over\n`,
    );
    const pid = await lineOf(shell);
    if (!/^\d+$/.test(pid)) throw new Error(`no new namespace: ${pid}`);
    writeFileSync(`/proc/${pid}/uid_map`, idMap);
    writeFileSync(`/proc/${pid}/gid_map`, idMap);
    const result = use(`/proc/${pid}/ns`);
    shell.send("\n");
    await lineOf(shell);
    return result;
  });
}

function lineOf(shell: SmallShell): Promise<string> {
  const progress = (): string => progressOfTree(shell.pid);
  return withinHostDeadline(shell.line(), { what: "unshare", clock: systemClock, progress, kill: () => shell.kill() });
}

/**
 * Command prefix: runs the rest as the given user, which may still make namespaces. Machines that forbid user namespaces to ordinary
 * users ask for this capability. It is lost with the new namespace.
 */
function asUser(id: number): string {
  return `setpriv --reuid ${id} --regid ${id} --clear-groups --inh-caps +sys_admin --ambient-caps +sys_admin`;
}

/** The map of a sandbox's own namespace: its ids are the range that starts at `first`. */
export function sandboxIdMap(first: number): string {
  return `0 ${first} ${idsPerRange}\n`;
}

/**
 * The map for mounts. Its second line gives the host's root an id there. An overlay makes its work folder as the user that mounts it;
 * without an id that user cannot own files on an idmapped upper, and the overlay would be read-only.
 */
export function mountIdMap(first: number): string {
  return `0 ${first} ${idsPerRange}\n${idsPerRange} 0 1\n`;
}

/**
 * Runs `use` with this thread in another network namespace. Only synchronous work: nothing else may run meanwhile.
 * A socket opened inside stays there.
 */
export function insideNetwork<T>(file: string, use: () => T): T {
  const there = openSync(file, "r");
  const here = openSync("/proc/thread-self/ns/net", "r");
  try {
    systemCall("setns", [there, networkKind], file);
    try {
      return use();
    } finally {
      systemCall("setns", [here, networkKind], "back to the network we came from");
    }
  } finally {
    closeSync(there);
    closeSync(here);
  }
}
