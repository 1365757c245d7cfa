/** cgroup v1: one tree for each controller, beside them the v2 tree without controllers if the machine has it mounted. */
import { readdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CgroupOptions, Cgroups, GroupLimits, PodCounters } from "./cgroups.ts";
import { childGroups, makeGroup, processesIn, readField, readNumber, removeGroups } from "#lib/cgroups/cgroup-files.ts";
import { type Freezer, freezerOf } from "#lib/cgroups/freezer.ts";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import { hasCode } from "#lib/native/files.ts";

/** The controllers whose pod groups we use ourselves; the runtime makes groups in all trees. */
const needed = ["memory", "cpu", "cpuacct", "pids", "freezer"] as const;

type Controller = (typeof needed)[number];

export class HybridCgroups implements Cgroups {
  readonly countsSwap: boolean;
  readonly #options: CgroupOptions;
  readonly #top: string;
  readonly #freezer: Freezer;

  constructor(options: CgroupOptions) {
    this.#options = options;
    this.#top = `abx${options.instance}`;
    this.#freezer = freezerOf("hybrid", options.clock);
    this.countsSwap = readIfPresent(join(options.root, "memory", "memory.memsw.limit_in_bytes")) !== undefined;
    const missing = needed.filter((controller) => childGroups(options.root).length > 0 && !this.#has(controller));
    if (missing.length > 0)
      throw new Error(
        `this machine's cgroups lack ${missing.join(", ")}: they are switched off in the kernel or not mounted below ${options.root}`,
      );
  }

  pathOf(pod: string, container: string): string {
    return `/${this.#top}/${pod}/${container}`;
  }

  ensurePod(pod: string, { pids, cpuShares }: GroupLimits): void {
    for (const controller of needed) makeGroup(this.#group(controller, pod));
    writeFileSync(join(this.#group("pids", pod), "pids.max"), String(pids));
    if (cpuShares !== undefined) writeFileSync(join(this.#group("cpu", pod), "cpu.shares"), String(cpuShares));
  }

  limitSockets(pod: string, container: string, bytes: number): void {
    const file = join(this.#group("memory", pod), container, "memory.kmem.tcp.limit_in_bytes");
    // Kernels that have given it up leave sockets uncounted in these trees.
    if (readIfPresent(file) !== undefined) writeFileSync(file, String(bytes));
  }

  freeze(pod: string): Promise<void> {
    return this.#freezer.freeze(this.#group("freezer", pod), `pod ${pod}`);
  }

  thaw(pod: string): Promise<void> {
    return this.#freezer.thaw(this.#group("freezer", pod), `pod ${pod}`);
  }

  isFrozen(pod: string): boolean {
    return this.#freezer.isFrozen(this.#group("freezer", pod));
  }

  counters(pod: string): PodCounters {
    const memory = this.#group("memory", pod);
    const stat = join(memory, "memory.stat");
    return {
      cpuNanos: readNumber(join(this.#group("cpuacct", pod), "cpuacct.usage")),
      memoryBytes: Math.max(0, readNumber(join(memory, "memory.usage_in_bytes")) - readField(stat, "total_inactive_file")),
      cacheBytes: readField(stat, "total_cache"),
      pids: readNumber(join(this.#group("pids", pod), "pids.current")),
    };
  }

  processes(pod: string): readonly number[] {
    return processesIn(this.#group("memory", pod));
  }

  oomKills(pod: string, container: string): number {
    return readField(join(this.#group("memory", pod), container, "memory.oom_control"), "oom_kill");
  }

  async removePod(pod: string): Promise<void> {
    await this.#remove(pod);
  }

  async removeContainer(pod: string, container: string): Promise<void> {
    await this.#remove(join(pod, container));
  }

  pods(): string[] {
    return [...new Set(this.#trees().flatMap((tree) => childGroups(join(tree, this.#top))))];
  }

  async removeInstance(): Promise<void> {
    await this.#remove(".");
  }

  async #remove(path: string): Promise<void> {
    const groups = this.#trees().map((tree) => join(tree, this.#top, path));
    await removeGroups({ groups, clock: this.#options.clock, kill: killListed });
  }

  #group(controller: Controller, pod: string): string {
    return join(this.#options.root, controller, this.#top, pod);
  }

  #has(controller: string): boolean {
    return readIfPresent(join(this.#options.root, controller, "cgroup.procs")) !== undefined;
  }

  /** Controllers that share a tree have a folder and a link each. */
  #trees(): string[] {
    const { root } = this.#options;
    const trees = readdirSync(root).map((name) => realpathSync(join(root, name)));
    return [...new Set(trees)];
  }
}

/** v1 has no way to kill a group as a whole: a process that forks faster than we read is killed in the next round. */
function killListed(group: string): void {
  for (const child of childGroups(group)) killListed(join(group, child));
  // A frozen process dies when it is thawed.
  const state = join(group, "freezer.state");
  const pids = (readIfPresent(join(group, "cgroup.procs")) ?? "").split("\n").filter((pid) => pid !== "");
  for (const pid of pids) signalIfThere(Number(pid));
  if (readIfPresent(state)?.trim() !== undefined) writeFileSync(state, "THAWED");
}

function signalIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (!hasCode(error, "ESRCH")) throw error;
  }
}
