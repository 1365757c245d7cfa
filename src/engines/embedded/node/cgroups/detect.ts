import type { MountEntry } from "#engines/embedded/node/linux/mount-table.ts";
import type { CgroupOptions, Cgroups } from "./cgroups.ts";
import { HybridCgroups } from "./hybrid.ts";
import { UnifiedCgroups } from "./unified.ts";

const usualRoot = "/sys/fs/cgroup";

/** Which layout a machine has, from its mount table. */
export function cgroupLayout(mounts: readonly MountEntry[], root: string = usualRoot): "unified" | "hybrid" {
  const here = mounts.findLast(({ target }) => target === root);
  if (here?.type === "cgroup2") return "unified";
  if (mounts.some(({ type, target }) => type === "cgroup" && target.startsWith(`${root}/`))) return "hybrid";
  throw new Error(`no cgroups are mounted at ${root}; on most machines systemd does it, elsewhere: mount -t cgroup2 none ${root}`);
}

export function openCgroups(options: Omit<CgroupOptions, "root">, mounts: readonly MountEntry[]): Cgroups {
  const all = { ...options, root: usualRoot };
  return cgroupLayout(mounts) === "unified" ? new UnifiedCgroups(all) : new HybridCgroups(all);
}
