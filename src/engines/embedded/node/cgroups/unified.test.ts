import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "#lib/clock.ts";
import { UnifiedCgroups } from "./unified.ts";

/** Files as a machine with cgroup v2 alone (systemd, kernel 6.1) has them. */
const recordedGroup = {
  "cgroup.controllers": "cpu memory pids\n",
  "cgroup.subtree_control": "",
  "cgroup.freeze": "0\n",
  "cgroup.events": "populated 1\nfrozen 0\n",
  "cgroup.procs": "",
  "cgroup.kill": "",
  "cpu.stat": "usage_usec 54515\nuser_usec 40000\nsystem_usec 14515\nnr_periods 10\n",
  "memory.current": "11534336\n",
  "memory.stat": "anon 9437184\nfile 2097152\ninactive_file 1048576\nactive_file 1048576\n",
  "memory.events": "low 0\nhigh 0\nmax 12\noom 1\noom_kill 2\noom_group_kill 0\n",
  "pids.current": "7\n",
  "pids.max": "max\n",
};

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "agentbox-cgroup2-"));
  writeFileSync(join(root, "cgroup.controllers"), "cpuset cpu io memory hugetlb pids\n");
  writeFileSync(join(root, "cgroup.subtree_control"), "memory pids\n");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function record(path: string): void {
  mkdirSync(join(root, path), { recursive: true });
  for (const [name, content] of Object.entries(recordedGroup)) writeFileSync(join(root, path, name), content);
}

const open = (): UnifiedCgroups => new UnifiedCgroups({ instance: "1", clock: systemClock, root });
const read = (path: string): string => readFileSync(join(root, path), "utf8");

test("a pod's group offers its controllers to containers and limits processes", () => {
  const groups = open();
  record("abx1/pod-a");
  groups.ensurePod("pod-a", { pids: 99 });
  expect(read("cgroup.subtree_control")).toBe("+cpu");
  expect(read("abx1/cgroup.subtree_control")).toBe("+cpu +memory +pids");
  expect(read("abx1/pod-a/pids.max")).toBe("99");
  expect(groups.pathOf("pod-a", "c1")).toBe("/abx1/pod-a/c1");
  expect(groups.pods()).toEqual(["pod-a"]);
});

test.each([
  [2, "1"],
  [1024, "39"],
  [262_144, "10000"],
])("%d shares are a weight of %s", (cpuShares, weight) => {
  open().ensurePod("pod-a", { pids: 99, cpuShares });
  expect(read("abx1/pod-a/cpu.weight")).toBe(weight);
});

test("counters are read in the units of the port, memory without cache that is given up on demand", () => {
  record("abx1/pod-a");
  expect(open().counters("pod-a")).toEqual({ cpuNanos: 54_515_000, memoryBytes: 11_534_336 - 1_048_576, cacheBytes: 2_097_152, pids: 7 });
});

test("a group that is gone counts nothing", () => {
  expect(open().counters("nobody")).toEqual({ cpuNanos: 0, memoryBytes: 0, cacheBytes: 0, pids: 0 });
  expect(open().oomKills("nobody", "c")).toBe(0);
  expect(open().isFrozen("nobody")).toBe(false);
});

test("kills for want of memory are the container's own", () => {
  record("abx1/pod-a/c1");
  expect(open().oomKills("pod-a", "c1")).toBe(2);
});

test("freezing is done when the kernel says so, and thawing likewise", async () => {
  const groups = open();
  record("abx1/pod-a");
  const events = join(root, "abx1/pod-a/cgroup.events");
  let done = false;
  const freezing = groups.freeze("pod-a").then(() => {
    done = true;
    return undefined;
  });
  expect(read("abx1/pod-a/cgroup.freeze")).toBe("1");
  expect(groups.isFrozen("pod-a")).toBe(true);
  await new Promise((resolve) => setImmediate(resolve));
  expect(done).toBe(false);
  writeFileSync(events, "populated 1\nfrozen 1\n");
  await freezing;
  writeFileSync(events, "populated 1\nfrozen 0\n");
  await groups.thaw("pod-a");
  expect(read("abx1/pod-a/cgroup.freeze")).toBe("0");
});

test("thawing a pod that has no group is a success", async () => {
  await expect(open().thaw("nobody")).resolves.toBeUndefined();
});

test("groups are removed with those below them; what still runs in them is killed as a whole", async () => {
  // Folders only: what the kernel shows as files cannot be removed.
  mkdirSync(join(root, "abx1/pod-a/c1"), { recursive: true });
  mkdirSync(join(root, "abx1/pod-b"), { recursive: true });
  const groups = open();
  await groups.removeContainer("pod-a", "c1");
  await groups.removePod("pod-a");
  await groups.removePod("pod-a");
  expect(readdirSync(join(root, "abx1"))).toEqual(["pod-b"]);
  await groups.removeInstance();
  expect(groups.pods()).toEqual([]);
});

test("a machine without a controller that is needed is refused by name", () => {
  writeFileSync(join(root, "cgroup.controllers"), "cpu io\n");
  expect(open).toThrow(`this machine's cgroups lack memory, pids: ${root}/cgroup.controllers does not name them`);
});

test("the processes of a pod are those of all its containers", () => {
  record("abx1/pod-a/c1");
  record("abx1/pod-a/c2");
  writeFileSync(join(root, "abx1/pod-a/c1/cgroup.procs"), "12\n13\n");
  writeFileSync(join(root, "abx1/pod-a/c2/cgroup.procs"), "14\n");
  expect(open().processes("pod-a")).toEqual([12, 13, 14]);
  expect(open().processes("pod-b")).toEqual([]);
});
