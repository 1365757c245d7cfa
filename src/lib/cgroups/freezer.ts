/** Stops the processes of a control group in place, with all groups below it, and lets them go on: cgroup v1 (`hybrid`) and v2 (`unified`). */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Clock, sleep } from "#lib/clock.ts";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import { readField, readNumber, soon, waitUntil, within } from "./cgroup-files.ts";

export type CgroupLayout = "unified" | "hybrid";

/** `group` is a folder in the tree that has the freezer; `what` names it in errors. */
export interface Freezer {
  /** Resolves when all processes stand. */
  freeze(group: string, what: string): Promise<void>;
  /** Of a group that is gone there is nothing to thaw. */
  thaw(group: string, what: string): Promise<void>;
  /** True also while some do not stand yet. */
  isFrozen(group: string): boolean;
}

/** Where groups lie that can be frozen. Undefined when no cgroups are mounted below `root`. */
export function freezerTree(root: string): { readonly layout: CgroupLayout; readonly top: string } | undefined {
  if (existsSync(join(root, "cgroup.controllers"))) return { layout: "unified", top: root };
  const top = join(root, "freezer");
  return existsSync(join(top, "cgroup.procs")) ? { layout: "hybrid", top } : undefined;
}

export function freezerOf(layout: CgroupLayout, clock: Clock): Freezer {
  return layout === "unified" ? unifiedFreezer(clock) : hybridFreezer(clock);
}

/** A busy machine lets a process come to a stand only when it is its turn. */
const freezePatienceMs = 10_000;
/** Two processes that wait for each other need no patience, but another try: the first tries are short, the later ones longer. */
const longestTryMs = 500;
const thawedMs = 3;

function hybridFreezer(clock: Clock): Freezer {
  return {
    freeze: async (group, what) => {
      const stands = (): boolean => stateOf(group) !== "FREEZING";
      const deadline = clock.now() + freezePatienceMs;
      for (let tryMs = 1; clock.now() < deadline; tryMs = Math.min(tryMs * 2, longestTryMs)) {
        writeFileSync(stateFile(group), "FROZEN");
        if ((await soon(stands)) || (await within(stands, clock, tryMs))) return;
        // A process in the middle of an exec waits for threads of its own that are frozen already.
        writeFileSync(stateFile(group), "THAWED");
        await sleep(clock, thawedMs);
      }
      throw new Error(`${what} cannot be frozen: some process of it does not come to a stand`);
    },
    thaw: async (group, what) => {
      if (stateOf(group) === undefined) return;
      writeFileSync(stateFile(group), "THAWED");
      await waitUntil(() => stateOf(group) !== "FROZEN", clock, `thawing of ${what}`);
    },
    isFrozen: (group) => stateOf(group) === "FROZEN" || stateOf(group) === "FREEZING",
  };
}

function stateFile(group: string): string {
  return join(group, "freezer.state");
}

function stateOf(group: string): string | undefined {
  return readIfPresent(stateFile(group))?.trim();
}

function unifiedFreezer(clock: Clock): Freezer {
  return {
    freeze: async (group, what) => {
      writeFileSync(freezeFile(group), "1");
      await waitUntil(() => standsNow(group), clock, `freezing of ${what}`);
    },
    thaw: async (group, what) => {
      if (readIfPresent(freezeFile(group)) === undefined) return;
      writeFileSync(freezeFile(group), "0");
      await waitUntil(() => !standsNow(group), clock, `thawing of ${what}`);
    },
    isFrozen: (group) => readNumber(freezeFile(group)) === 1,
  };
}

function freezeFile(group: string): string {
  return join(group, "cgroup.freeze");
}

function standsNow(group: string): boolean {
  return readField(join(group, "cgroup.events"), "frozen") === 1;
}
