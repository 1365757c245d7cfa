import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "#lib/clock.ts";
import { HybridCgroups } from "./hybrid.ts";

const trees = ["memory", "cpu,cpuacct", "pids", "freezer", "devices", "unified"];

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "agentbox-cgroup1-"));
  for (const tree of trees) {
    mkdirSync(join(root, tree));
    writeFileSync(join(root, tree, "cgroup.procs"), "1\n");
  }
  // Controllers that share a tree are links to it.
  symlinkSync("cpu,cpuacct", join(root, "cpu"));
  symlinkSync("cpu,cpuacct", join(root, "cpuacct"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const open = (): HybridCgroups => new HybridCgroups({ instance: "1", clock: systemClock, root });
const read = (path: string): string => readFileSync(join(root, path), "utf8");
function write(path: string, content: string): void {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), content);
}

test("a pod has a group in each tree that we use, and a limit of processes", () => {
  const groups = open();
  groups.ensurePod("pod-a", { pids: 99 });
  groups.ensurePod("pod-a", { pids: 98, cpuShares: 512 });
  expect(read("pids/abx1/pod-a/pids.max")).toBe("98");
  expect(read("cpu/abx1/pod-a/cpu.shares")).toBe("512");
  expect(groups.pathOf("pod-a", "c1")).toBe("/abx1/pod-a/c1");
  expect(groups.pods()).toEqual(["pod-a"]);
});

test("the sockets of a container have a limit of their own, where the kernel knows one", () => {
  write("memory/abx1/pod-a/c1/memory.kmem.tcp.limit_in_bytes", "9223372036854771712\n");
  open().limitSockets("pod-a", "c1", 16 << 20);
  expect(read("memory/abx1/pod-a/c1/memory.kmem.tcp.limit_in_bytes")).toBe("16777216");
  mkdirSync(join(root, "memory/abx1/pod-a/c2"));
  open().limitSockets("pod-a", "c2", 16 << 20);
  expect(existsSync(join(root, "memory/abx1/pod-a/c2/memory.kmem.tcp.limit_in_bytes"))).toBe(false);
});

test("pods are found in whatever tree something of them is left", () => {
  mkdirSync(join(root, "devices/abx1/left-over"), { recursive: true });
  mkdirSync(join(root, "memory/abx1/pod-a"), { recursive: true });
  mkdirSync(join(root, "memory/abx2/other-instance"), { recursive: true });
  expect(open().pods().sort()).toEqual(["left-over", "pod-a"]);
});

test("counters are those of the pod with all below it", () => {
  write("cpuacct/abx1/pod-a/cpuacct.usage", "54515628\n");
  write("memory/abx1/pod-a/memory.usage_in_bytes", "11534336\n");
  write("memory/abx1/pod-a/memory.stat", "cache 0\ninactive_file 5\ntotal_cache 9\ntotal_inactive_file 1048576\n");
  write("pids/abx1/pod-a/pids.current", "7\n");
  expect(open().counters("pod-a")).toEqual({ cpuNanos: 54_515_628, memoryBytes: 10_485_760, cacheBytes: 9, pids: 7 });
});

test("kills for want of memory are the container's own", () => {
  write("memory/abx1/pod-a/c1/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  expect(open().oomKills("pod-a", "c1")).toBe(3);
  expect(open().oomKills("pod-a", "c2")).toBe(0);
});

test("freezing is over as soon as the state says so", async () => {
  write("freezer/abx1/pod-a/freezer.state", "THAWED\n");
  const groups = open();
  // Nobody plays the kernel here, so what was asked for is what is read: frozen at once.
  await groups.freeze("pod-a");
  expect(read("freezer/abx1/pod-a/freezer.state")).toBe("FROZEN");
  expect(groups.isFrozen("pod-a")).toBe(true);
  await groups.thaw("pod-a");
  expect(groups.isFrozen("pod-a")).toBe(false);
});

test("swap is counted where the kernel has a file for it", () => {
  expect(open().countsSwap).toBe(false);
  write("memory/memory.memsw.limit_in_bytes", "9223372036854771712\n");
  expect(open().countsSwap).toBe(true);
});

test("all trees lose the groups of a removed pod, and the instance's own at the end", async () => {
  for (const tree of trees) mkdirSync(join(root, tree, "abx1/pod-a/c1"), { recursive: true });
  const groups = open();
  await groups.removePod("pod-a");
  expect(groups.pods()).toEqual([]);
  await groups.removeInstance();
  await groups.removeInstance();
});

test("a machine without a controller that is needed is refused by name", () => {
  rmSync(join(root, "freezer"), { recursive: true });
  expect(open).toThrow(/this machine's cgroups lack freezer: they are switched off in the kernel or not mounted below/);
});
