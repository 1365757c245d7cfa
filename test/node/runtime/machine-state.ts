import { existsSync, globSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { mountTable } from "#engines/embedded/node/linux/mount-table.ts";
import type { NodeWorld } from "./node-world.ts";

export type MachineState = Readonly<Record<"mounts" | "groups" | "links" | "rules" | "folders" | "loops" | "processes", readonly string[]>>;

/** Everything that a node has on the machine, as text lines: two of them are compared to see that nothing is left. */
export function machineState({ options: { instance, home } }: NodeWorld): MachineState {
  const run = `/run/agentbox-${instance}`;
  return {
    mounts: mountTable()
      .filter(({ target, source }) => target.startsWith(run) || source.includes(home))
      .map(({ target, type }) => `${type} ${target}`)
      .sort(),
    groups: globSync(`/sys/fs/cgroup/*/abx${instance}/**/`).sort(),
    links: readdirSync("/sys/class/net").filter((name) => name.startsWith(`abx${instance}`)),
    rules: rulesOf(instance),
    folders: [run, home].flatMap(filesBelow).sort(),
    loops: globSync("/sys/block/loop*/loop/backing_file").filter((file) => readFileSync(file, "utf8").startsWith(home)),
    processes: processesOf(run),
  };
}

function rulesOf(instance: string): string[] {
  const tables = execFileSync("nft", ["list", "tables"], { encoding: "utf8" }).split("\n");
  const own = tables.filter((line) => line.endsWith(` abx${instance}`));
  return own.flatMap((line) => execFileSync("nft", ["list", ...line.split(" ")], { encoding: "utf8" }).split("\n"));
}

function filesBelow(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: "utf8" }).map((path) => join(folder, path)) : [];
}

/** Processes whose root or whose command line leads to the node. */
function processesOf(run: string): string[] {
  return readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .flatMap((pid) => {
      const line = tryRead(() => readFileSync(`/proc/${pid}/cmdline`, "utf8")).replaceAll("\0", " ");
      return line.includes(run) ? [`${pid} ${line}`] : [];
    });
}

/** Inode numbers of the namespaces that some process is in. */
export function namespacesInUse(kind: "user" | "net"): Set<string> {
  const pids = readdirSync("/proc").filter((pid) => /^\d+$/.test(pid));
  return new Set(pids.map((pid) => tryRead(() => readlinkSync(`/proc/${pid}/ns/${kind}`))));
}

function tryRead(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
