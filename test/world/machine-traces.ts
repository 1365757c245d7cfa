/**
 * What AgentBox has on this machine, read from the machine itself: two snapshots are compared to see that nothing is left.
 * Names only, nothing that changes by itself, so that equal means equal.
 */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { mountTable } from "#engines/embedded/node/linux/mount-table.ts";

export interface MachineTraces {
  /** Also the files that hold namespaces: those are mounts. */
  readonly mounts: readonly string[];
  readonly groups: readonly string[];
  readonly links: readonly string[];
  readonly tables: readonly string[];
  readonly loops: readonly string[];
  /** In the machine's /run: what is in a data folder is its owner's to look at. */
  readonly folders: readonly string[];
  /** Processes in containers, and commands that work on them. */
  readonly processes: readonly string[];
}

export const noTraces: MachineTraces = { mounts: [], groups: [], links: [], tables: [], loops: [], folders: [], processes: [] };

/** The traces of one instance; its data folder is `home`. */
export function tracesOf(instance: string, home: string): MachineTraces {
  return traces({ name: `abx${instance}`, run: `/run/agentbox-${instance}`, home });
}

/**
 * Of those of one instance: what pods have. Without the instance's own bridge, tables and top folders, and without what is
 * kept ready for pods to come: a spare disk, and slots, so many at most.
 */
export function podTraces({ mounts, groups, links, loops, processes: running }: MachineTraces, slotsAhead = 8): readonly string[] {
  const ready = mounts.filter((mount) => /^nsfs .*\/slots\//.test(mount));
  const ports = links.filter((link) => link.includes("-"));
  return [
    ...mounts.filter((mount) => !ready.includes(mount) && !/\/run\/agentbox-[^/]+(\/daemon|\/disks\/spare-\d+)?$/.test(mount)),
    ...(ready.length > slotsAhead * 2 ? ready : []),
    ...groups.filter((group) => /\/abx[^/]+\/./.test(group)),
    ...(ports.length > slotsAhead ? ports : []),
    ...loops.filter((file) => !file.includes("/spare-")),
    ...running,
  ];
}

interface Names {
  /** What names in the kernel begin with. */
  readonly name: string;
  readonly run: string;
  readonly home: string;
}

function traces({ name, run, home }: Names): MachineTraces {
  return {
    mounts: mountTable()
      .filter(({ target, source }) => target.startsWith(run) || (home !== undefined && (source.includes(home) || target.startsWith(home))))
      .map(({ target, type }) => `${type} ${target}`)
      .sort(),
    groups: globSync(`/sys/fs/cgroup/{${name}*,*/${name}*}/**/`).sort(),
    links: readdirSync("/sys/class/net")
      .filter((link) => link.startsWith(name))
      .sort(),
    tables: execFileSync("nft", ["list", "tables"], { encoding: "utf8" })
      .split("\n")
      .filter((line) => line.includes(` ${name}`))
      .sort(),
    loops: loopFiles().filter((file) => home !== undefined && file.startsWith(home)),
    folders: globSync(`${run}*`).sort(),
    processes: processes(name, run),
  };
}

/** The files that are block devices now. */
function loopFiles(): string[] {
  const devices = readdirSync("/sys/block").filter((device) => device.startsWith("loop"));
  return devices.map((device) => tryRead(`/sys/block/${device}/loop/backing_file`).trim()).sort();
}

function processes(name: string, run: string): string[] {
  return pids().flatMap((pid) => {
    const line = tryRead(`/proc/${pid}/cmdline`).replaceAll("\0", " ");
    const isOurs = tryRead(`/proc/${pid}/cgroup`).includes(`:/${name}`) || (line.includes(run) && Number(pid) !== process.pid);
    return isOurs && !waitsForFirst(pid) ? [`${pid} ${line}`] : [];
  });
}

/** Dead, and left to the machine's first process to be collected, which takes its time: nothing of ours any more. */
function waitsForFirst(pid: string): boolean {
  return / Z 1 /.test(tryRead(`/proc/${pid}/stat`));
}

/** First processes of containers that run, by container. */
export function firstProcesses(instance: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const pid of pids()) {
    const [, container] = new RegExp(`:/abx${instance}/[^/]+/([0-9a-f]{64})$`, "m").exec(tryRead(`/proc/${pid}/cgroup`)) ?? [];
    const status = tryRead(`/proc/${pid}/status`);
    const runs = /^NSpid:.*\t1$/m.test(status) && !/^State:\s+Z/m.test(status);
    if (container !== undefined && runs) found.set(container, [...(found.get(container) ?? []), pid]);
  }
  return found;
}

/** Whatever is in the folder that is more than an empty folder. */
export function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

function pids(): string[] {
  return readdirSync("/proc").filter((entry) => /^\d+$/.test(entry));
}

/** Nothing for what is gone by now, as processes are. */
function tryRead(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
