/** cgroup v2: one tree with all controllers. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CgroupOptions, Cgroups, GroupLimits, PodCounters } from "./cgroups.ts";
import { childGroups, makeGroup, processesIn, readField, readNumber, removeGroups } from "#lib/cgroups/cgroup-files.ts";
import { type Freezer, freezerOf } from "#lib/cgroups/freezer.ts";
import { readIfPresent } from "#lib/native/read-if-present.ts";

const needed = ["cpu", "memory", "pids"];

export class UnifiedCgroups implements Cgroups {
  /** Runtimes leave it out by themselves where the kernel does not have it. */
  readonly countsSwap = true;
  readonly #options: CgroupOptions;
  readonly #top: string;
  readonly #freezer: Freezer;

  constructor(options: CgroupOptions) {
    this.#options = options;
    this.#top = join(options.root, `abx${options.instance}`);
    this.#freezer = freezerOf("unified", options.clock);
    const offered = (readIfPresent(join(options.root, "cgroup.controllers")) ?? "").trim().split(" ");
    const missing = needed.filter((controller) => !offered.includes(controller));
    if (missing.length > 0)
      throw new Error(`this machine's cgroups lack ${missing.join(", ")}: ${options.root}/cgroup.controllers does not name them`);
  }

  pathOf(pod: string, container: string): string {
    return `/abx${this.#options.instance}/${pod}/${container}`;
  }

  ensurePod(pod: string, { pids, cpuShares }: GroupLimits): void {
    const group = join(this.#top, pod);
    makeGroup(group);
    for (const parent of [this.#options.root, this.#top, group]) this.#offerToChildren(parent);
    writeFileSync(join(group, "pids.max"), String(pids));
    if (cpuShares !== undefined) writeFileSync(join(group, "cpu.weight"), String(weightOf(cpuShares)));
  }

  /** Here the limit of memory counts sockets too. */
  limitSockets(): void {}

  freeze(pod: string): Promise<void> {
    return this.#freezer.freeze(join(this.#top, pod), `pod ${pod}`);
  }

  thaw(pod: string): Promise<void> {
    return this.#freezer.thaw(join(this.#top, pod), `pod ${pod}`);
  }

  isFrozen(pod: string): boolean {
    return this.#freezer.isFrozen(join(this.#top, pod));
  }

  counters(pod: string): PodCounters {
    const group = join(this.#top, pod);
    const memory = join(group, "memory.stat");
    return {
      cpuNanos: readField(join(group, "cpu.stat"), "usage_usec") * 1000,
      memoryBytes: Math.max(0, readNumber(join(group, "memory.current")) - readField(memory, "inactive_file")),
      cacheBytes: readField(memory, "file"),
      pids: readNumber(join(group, "pids.current")),
    };
  }

  processes(pod: string): readonly number[] {
    return processesIn(join(this.#top, pod));
  }

  oomKills(pod: string, container: string): number {
    return readField(join(this.#top, pod, container, "memory.events"), "oom_kill");
  }

  async removePod(pod: string): Promise<void> {
    await this.#remove(join(this.#top, pod));
  }

  async removeContainer(pod: string, container: string): Promise<void> {
    await this.#remove(join(this.#top, pod, container));
  }

  pods(): string[] {
    return childGroups(this.#top);
  }

  async removeInstance(): Promise<void> {
    await this.#remove(this.#top);
  }

  async #remove(group: string): Promise<void> {
    await removeGroups({ groups: [group], clock: this.#options.clock, kill: killWhole });
  }

  #offerToChildren(group: string): void {
    const file = join(group, "cgroup.subtree_control");
    const given = (readIfPresent(file) ?? "").trim().split(" ");
    const more = needed.filter((controller) => !given.includes(controller));
    if (more.length > 0) writeFileSync(file, more.map((controller) => `+${controller}`).join(" "));
  }
}

/** From 2 … 262,144 to 1 … 10,000, as runtimes do it for containers. */
function weightOf(shares: number): number {
  return 1 + Math.floor(((Math.min(Math.max(shares, 2), 262_144) - 2) * 9999) / 262_142);
}

/** Frozen processes die too. */
function killWhole(group: string): void {
  if (readIfPresent(join(group, "cgroup.procs")) !== undefined) writeFileSync(join(group, "cgroup.kill"), "1");
}
