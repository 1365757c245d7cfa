/** cgroup v1: one tree for each controller, beside them the v2 tree without controllers if the machine has it mounted. */
import { readdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CgroupOptions, Cgroups, GroupLimits, PodCounters } from "./cgroups.ts";
import { childGroups, makeGroup, readField, readNumber, removeGroups, soon, waitUntil, within } from "./cgroup-files.ts";
import { sleep } from "#lib/clock.ts";
import { readIfPresent } from "#engines/embedded/node/linux/read-if-present.ts";
import { hasCode } from "#lib/native/files.ts";

/** Those whose pod groups we use ourselves; the runtime makes groups in all trees. */
const needed = ["memory", "cpu", "cpuacct", "pids", "freezer"] as const;
/** A busy machine lets a process come to a stand only when it is its turn. */
const freezePatienceMs = 10_000;
/** Two processes that wait for each other need no patience, but another try: the first tries are short, the later ones longer. */
const longestTryMs = 500;
const thawedMs = 3;

type Controller = (typeof needed)[number];

export class HybridCgroups implements Cgroups {
  readonly countsSwap: boolean;
  readonly #options: CgroupOptions;
  readonly #top: string;

  constructor(options: CgroupOptions) {
    this.#options = options;
    this.#top = `abx${options.instance}`;
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

  async freeze(pod: string): Promise<void> {
    const state = join(this.#group("freezer", pod), "freezer.state");
    const { clock } = this.#options;
    const stands = (): boolean => readIfPresent(state)?.trim() !== "FREEZING";
    const deadline = clock.now() + freezePatienceMs;
    for (let tryMs = 1; clock.now() < deadline; tryMs = Math.min(tryMs * 2, longestTryMs)) {
      writeFileSync(state, "FROZEN");
      if ((await soon(stands)) || (await within(stands, clock, tryMs))) return;
      // A process in the middle of an exec waits for threads of its own that are frozen already.
      writeFileSync(state, "THAWED");
      await sleep(clock, thawedMs);
    }
    throw new Error(`pod ${pod} cannot be frozen: some process of it does not come to a stand`);
  }

  async thaw(pod: string): Promise<void> {
    const state = join(this.#group("freezer", pod), "freezer.state");
    if (readIfPresent(state) === undefined) return;
    writeFileSync(state, "THAWED");
    await waitUntil(() => readIfPresent(state)?.trim() !== "FROZEN", this.#options.clock, `thawing of pod ${pod}`);
  }

  isFrozen(pod: string): boolean {
    const state = readIfPresent(join(this.#group("freezer", pod), "freezer.state"))?.trim();
    return state === "FROZEN" || state === "FREEZING";
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

/** v1 has no way to kill a group as a whole: who forks faster than we read is caught in the next round. */
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
