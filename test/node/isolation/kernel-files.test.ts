import { readdirSync, readlinkSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { onMachine, twoNeighbours, users } from "./sandboxes.ts";

const box = twoNeighbours();

/** Files and folders of the kernel that tell about the machine or its other users. */
const hidden = [
  "/proc/kcore",
  "/proc/kallsyms",
  "/proc/keys",
  "/proc/key-users",
  "/proc/timer_list",
  "/proc/sched_debug",
  "/proc/slabinfo",
  "/proc/vmallocinfo",
  "/proc/modules",
  "/proc/config.gz",
  "/proc/cmdline",
  "/proc/diskstats",
  "/proc/partitions",
  "/proc/swaps",
  "/proc/locks",
  "/proc/interrupts",
  "/proc/acpi",
  "/proc/scsi",
  "/proc/bus/pci",
  "/sys/firmware",
  "/sys/kernel",
  "/sys/module",
  "/sys/block",
  "/sys/bus",
  "/sys/fs/cgroup",
  "/sys/kernel/security",
  "/sys/kernel/debug",
  "/proc/buddyinfo",
  "/proc/cgroups",
  "/proc/driver",
  "/proc/fs",
  "/proc/irq",
  "/proc/pagetypeinfo",
  "/proc/schedstat",
  "/proc/softirqs",
  "/proc/sys/fs/aio-nr",
  "/proc/sys/fs/dentry-state",
  "/proc/sys/fs/file-nr",
  "/proc/sys/fs/inode-nr",
  "/proc/sys/fs/inode-state",
  "/proc/sys/kernel/pty/nr",
  "/sys/class/bdi",
  "/sys/dev",
  "/sys/devices/system/node",
  "/sys/devices/virtual/bdi",
  "/sys/devices/virtual/block",
  "/sys/devices/virtual/workqueue",
  "/sys/fs",
];

/** Each of them would be a way out, or a setting of the whole machine. */
const closed: readonly (readonly [meaning: string, path: string])[] = [
  ["the program that is given core dumps", "/proc/sys/kernel/core_pattern"],
  ["the program that loads modules", "/proc/sys/kernel/modprobe"],
  ["the program that is told of devices", "/sys/kernel/uevent_helper"],
  ["the program that is told of empty groups", "/sys/fs/cgroup/release_agent"],
  ["the limits of its group", "/sys/fs/cgroup/memory.max"],
  ["the formats of programs", "/proc/sys/fs/binfmt_misc/register"],
  ["what the magic key does", "/proc/sys/kernel/sysrq"],
  ["the magic key", "/proc/sysrq-trigger"],
  ["how memory is promised", "/proc/sys/vm/overcommit_memory"],
  ["what is dropped from memory", "/proc/sys/vm/drop_caches"],
  ["who may trace whom", "/proc/sys/kernel/yama/ptrace_scope"],
  ["how addresses are shuffled", "/proc/sys/kernel/randomize_va_space"],
  ["how many processes there can be", "/proc/sys/kernel/pid_max"],
  ["its machine's name", "/proc/sys/kernel/hostname"],
  ["whether packets are forwarded", "/proc/sys/net/ipv4/ip_forward"],
  ["whether IPv6 is on", "/proc/sys/net/ipv6/conf/eth0/disable_ipv6"],
  ["which processor gets interrupts", "/proc/irq/default_smp_affinity"],
  ["the size of its packets", "/sys/class/net/eth0/mtu"],
  ["the table of partitions of a disk", "/sys/class/block"],
  ["the clock of a processor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"],
  ["which processors are on", "/sys/devices/system/cpu/cpu1/online"],
  ["the sleep of the machine", "/sys/power/state"],
  ["the kernel's messages", "/dev/kmsg"],
  ["memory", "/dev/mem"],
  ["the groups of its user namespace", "/proc/self/setgroups"],
];

interface Seen {
  readonly hidden: Readonly<Record<string, string>>;
  readonly closed: Readonly<Record<string, string>>;
}

/** Of a hidden path: whether anything is to be read. Of a closed one: how an attempt to write into it ends. */
const look = `
import errno, json, os
def content(path):
    try:
        if os.path.isdir(path): return "empty" if os.listdir(path) == [] else "something"
        with open(path, "rb") as file: return "empty" if file.read(64) == b"" else "something"
    except OSError as error:
        return errno.errorcode[error.errno]
def written(path):
    try:
        file = os.open(path, os.O_WRONLY)
        os.write(file, b"1\\n")
        return "done"
    except OSError as error:
        return errno.errorcode[error.errno]
print(json.dumps({"hidden": {path: content(path) for path in HIDDEN}, "closed": {path: written(path) for path in CLOSED}}))
`;

describe.each(users)("as %s", (user) => {
  let seen: Seen = { hidden: {}, closed: {} };
  beforeAll(async () => {
    const lists = `HIDDEN = ${JSON.stringify(hidden)}\nCLOSED = ${JSON.stringify(closed.map(([, path]) => path))}\n`;
    seen = JSON.parse(await box.mine.python(lists + look, user)) as Seen;
  });

  test.each(hidden)("%s shows nothing", (path) => {
    expect(["empty", "ENOENT", "EACCES", "EPERM"]).toContain(seen.hidden[path]);
  });

  test.each(closed)("a sandbox cannot change %s (%s)", (_, path) => {
    expect(["EROFS", "EACCES", "EPERM", "ENOENT", "EISDIR"]).toContain(seen.closed[path]);
  });

  test("nothing in /proc/sys and /sys can be written to", async () => {
    // Of all files there, whatever their mode says; opening is enough to know.
    const source = `
import os
opened = []
for top in ("/proc/sys", "/sys"):
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            # In place of a hidden file there is /dev/null.
            if os.path.islink(path) or os.stat(path).st_rdev == os.makedev(1, 3): continue
            try: os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK)); opened.append(path)
            except OSError: pass
print(opened)`;
    expect(await box.mine.python(source, user)).toBe("[]");
  });

  test("a sandbox cannot outlive the machine's own services when memory is short", async () => {
    expect(Number(await box.mine.says("cat /proc/self/oom_score_adj", user))).toBeGreaterThanOrEqual(500);
    expect((await box.mine.sh("echo -900 > /proc/self/oom_score_adj", user)).code).not.toBe(0);
    expect((await box.mine.sh("echo -1 > /proc/self/oom_score_adj", user)).code).not.toBe(0);
  });

  test("a limit of a process cannot be raised", async () => {
    for (const limit of ["-n", "-c"]) expect((await box.mine.sh(`ulimit -H ${limit} unlimited`, user)).code).not.toBe(0);
  });
});

test("a sandbox has the usual devices and no other", async () => {
  // Asked of each file: folders of a mount point list what lies below it.
  const source = `
import os, stat
for top in ("/dev", "/run", "/tmp", "/var", "/etc", "/home"):
    for folder, _, names in os.walk(top):
        for name in names:
            mode = os.lstat(os.path.join(folder, name)).st_mode
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode): print(os.path.join(folder, name))`;
  const found = (await box.mine.python(source)).split("\n").sort();
  expect(found).toEqual(["/dev/full", "/dev/null", "/dev/pts/ptmx", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero"]);
});

test("the mounts of a sandbox do not tell where the machine keeps its files", async () => {
  const mounts = await box.mine.says("cat /proc/self/mountinfo /proc/self/mounts");
  for (const path of [box.world.home, "agentbox", "/var/", "/tmp", "/run", "/home", process.cwd()]) expect(mounts).not.toContain(path);
});

/** Walks through all files of the kernel that are not of a process, and prints those that are called or hold one of the words. */
const search = (words: readonly string[]): string => `
import os
words = [word.encode() for word in ${JSON.stringify(words)}]
for top in ("/proc", "/sys"):
    for folder, folders, names in os.walk(top):
        if folder == "/proc": folders[:] = [name for name in folders if not name.isdigit() and name not in ("self", "thread-self", "net")]
        for name in names + folders:
            path = os.path.join(folder, name)
            text = path.encode()
            try:
                if os.path.islink(path): text += os.readlink(path).encode()
                elif os.path.isfile(path) and os.stat(path).st_mode & 0o444:
                    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                    try: text += os.read(file, 1 << 16)
                    finally: os.close(file)
            except OSError: pass
            if any(word in text for word in words): print(path)`;

test("no file of the kernel tells of the disks of sandboxes, of a neighbour or of where the machine keeps its files", async () => {
  // Their disks are there: without them there would be nothing to find.
  expect(onMachine("losetup", "--list", "--noheadings", "--output", "BACK-FILE")).toContain(box.other.uid);
  expect(await box.mine.python(search(["loop0", "loop1", box.other.uid, box.mine.uid, box.world.home]))).toBe("");
});

test("the disks of the machine, and what is read from them, cannot be seen", async () => {
  const trees = readdirSync("/sys/block").map((name) => readlinkSync(`/sys/block/${name}`).replace("../", "/sys/"));
  expect(trees.length).toBeGreaterThan(0);
  const source = `import os\nprint([path for path in ${JSON.stringify(trees)} if os.path.exists(path)])`;
  expect(await box.mine.python(source)).toBe("[]");
});

test("a sandbox does not see in which group of the machine it is", async () => {
  const groups = (await box.mine.says("cut -d: -f3 /proc/self/cgroup | sort -u")).split("\n");
  expect(groups).toEqual(["/"]);
  expect(await box.mine.says("awk '$3 ~ /cgroup/' /proc/self/mounts")).toBe("");
});

test("a sandbox sees its own links and routes only", async () => {
  expect(await box.mine.says("ls /sys/class/net")).toBe("eth0\nlo");
  expect(await box.mine.says("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' | sort")).toBe("eth0\nlo");
});
