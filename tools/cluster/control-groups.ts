/** The control groups of the node: one below which kubelet makes those of its pods, and one for the node's programs. */
import { existsSync, globSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import { hasCode } from "#lib/native/files.ts";
import { ownName } from "./layout.ts";

const root = "/sys/fs/cgroup";

/** One per hierarchy: kubelet refuses to start where one is missing. */
export function ensureControlGroups(): void {
  const unified = existsSync(join(root, "cgroup.controllers"));
  for (const hierarchy of unified ? [root] : hierarchies()) {
    const group = join(hierarchy, ownName);
    mkdirSync(group, { recursive: true });
    // A new cpuset has no processors and no memory, and no process can be put into it.
    for (const file of ["cpuset.cpus", "cpuset.mems"]) copySetting(join(hierarchy, file), join(group, file));
    // The weight that kubelet gives its pods: otherwise all of them together weigh as much as one thread of the API server.
    const shares = join(group, "cpu.shares");
    if (existsSync(shares)) writeFileSync(shares, String(1024 * availableParallelism()));
  }
  if (unified) handDown(root);
}

/** Of the node's own programs, all of them together: a quarter of one thread of the API server. */
const programShares = 256;

/**
 * On most clusters nodes and the control plane are different machines. Here they are one. An API server that waits for a kubelet to start
 * containers would be measured as slow, so the node's programs get less weight than all others.
 */
export function weighLess(pids: readonly number[]): void {
  // Not below the group of the pods: there it could use all of the group's weight that the pods leave.
  const group = join(root, "cpu", `${ownName}-programs`);
  // Version 2 has no such file. It is left unchanged until this has been tried there.
  if (!existsSync(join(root, "cpu", "cpu.shares"))) return;
  mkdirSync(group, { recursive: true });
  writeFileSync(join(group, "cpu.shares"), String(programShares));
  for (const pid of pids) writeFileSync(join(group, "cgroup.procs"), String(pid));
}

/** On version 2: what the group may limit, its parent must hand down. */
function handDown(group: string): void {
  const controllers = (readIfPresent(join(group, "cgroup.controllers")) ?? "").trim().split(" ").filter(Boolean);
  for (const controller of controllers) writeFileSync(join(group, "cgroup.subtree_control"), `+${controller}`);
}

function copySetting(from: string, to: string): void {
  const value = readIfPresent(from)?.trim();
  if (value !== undefined && value !== "" && readIfPresent(to)?.trim() === "") writeFileSync(to, value);
}

function hierarchies(): readonly string[] {
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(root, entry.name))
    .filter((folder) => existsSync(join(folder, "cgroup.procs")));
}

/** Deepest first. */
export function controlGroups(): readonly string[] {
  return globSync([`${root}/${ownName}/**/`, `${root}/*/${ownName}{,-programs}/**/`]).sort((a, b) => b.length - a.length);
}

export function processesInGroups(): readonly number[] {
  const pids = controlGroups().flatMap((group) => (readIfPresent(join(group, "cgroup.procs")) ?? "").split("\n").filter(Boolean));
  return [...new Set(pids.map(Number))];
}

/** Groups without processes; what is still dying in one keeps it, so this is called again. */
export function removeControlGroups(): boolean {
  for (const group of controlGroups()) {
    try {
      rmdirSync(group);
    } catch (error) {
      if (!hasCode(error, "ENOENT", "EBUSY")) throw error;
    }
  }
  return controlGroups().length === 0;
}
