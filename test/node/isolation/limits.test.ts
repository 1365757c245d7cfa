import { globSync, readFileSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { Pods, type Pod } from "#model/pod.ts";
import { onMachine, type Sandbox, twoNeighbours, users } from "./sandboxes.ts";

const limits = { cpu: "500m", memory: "160Mi", "ephemeral-storage": "48Mi" };
const probe = { httpGet: { path: "/health", port: 49_983 }, periodSeconds: 1 };
const limited = { containers: [{ name: "main", image: "host", resources: { limits }, readinessProbe: probe }] };

const box = twoNeighbours({ mine: limited, other: limited });

/** A counter of the group of all of a sandbox's processes, on machines with either kind of cgroups. */
function counter(sandbox: Sandbox, v1: string, v2: string): string {
  const [file] = globSync([
    `/sys/fs/cgroup/${v1.split("/")[0] ?? ""}/abx*/${sandbox.uid}/*/${v1.split("/")[1] ?? ""}`,
    `/sys/fs/cgroup/abx*/${sandbox.uid}/*/${v2}`,
  ]);
  if (file === undefined) throw new Error(`no counter ${v1} or ${v2}`);
  return readFileSync(file, "utf8");
}

/** What the disks of all sandboxes of this node take of the machine's. */
const takenKiB = (): number => Number(onMachine("du", "-sk", join(box.world.home, "node", "disks")).split("\t")[0]);
const takenFiles = (): number =>
  onMachine("find", join(box.world.home, "node", "disks"))
    .trim()
    .split("\n").length;
/** Where the node keeps its records. */
const recordsTaken = (): number => {
  const [group = ""] = globSync(`/sys/fs/cgroup/{pids/,}abx*/${box.mine.uid}`);
  const { blocks, bfree, bsize } = statfsSync(`/run/agentbox-${basename(dirname(group)).slice(3)}`);
  return (blocks - bfree) * bsize;
};
const MiB = 1 << 20;

async function bothAnswer(): Promise<void> {
  expect([await box.mine.health(), await box.other.health()]).toEqual([204, 204]);
}

/** Runs `step` until it fails, and prints how often it succeeded and how it failed. */
const until = (step: string): string => `
import errno, os, socket
held, count = [], 0
try:
    while count < 200000:
        ${step}
        count += 1
    print(count, "no limit")
except OSError as error:
    print(count, errno.errorcode[error.errno])
`;

/** Several times the memory that there is, in small parts. */
const forks = `
import os, time
for _ in range(60):
    if os.fork() == 0:
        held = bytearray(8 << 20)
        time.sleep(2)
        os._exit(0)
time.sleep(2)
`;

describe.each(users)("as %s", (user) => {
  test("a memory hog is killed, its sandbox lives, and so does its neighbour", async () => {
    const { code } = await box.mine.run(["python3", "-c", "held = [bytearray(1 << 20) for _ in range(400)]"], user);
    expect(code).toBe(137);
    await bothAnswer();
  });

  test("what lies in sockets unread ends at a part of its memory", async () => {
    const source = `
import socket
server = socket.create_server(("127.0.0.1", 0), backlog=200)
held, queued = [], 0
for _ in range(100):
    pair = socket.create_connection(server.getsockname()), server.accept()[0]
    held.append(pair)
    for end in pair:
        end.setblocking(False)
        try:
            while True: queued += end.send(bytes(1 << 20))
        except BlockingIOError: pass
print(queued >> 20)`;
    // Where its memory counts sockets too it may be killed for them.
    const { code, stdout } = await box.mine.run(["python3", "-c", source], user);
    expect([0, 137]).toContain(code);
    expect(Number(stdout)).toBeLessThan(160);
    await bothAnswer();
  });

  test("many processes that are each smaller than the daemon go before it, when memory is short", async () => {
    const before = box.mine.pids();
    await box.mine.run(["python3", "-c", forks], user);
    await expect.poll(() => box.mine.pids().length).toBe(before.length);
    expect(box.mine.pids()).toEqual(before);
    await bothAnswer();
  });

  test("a disk filler runs out of space, and nobody else does", async () => {
    const { stdout } = await box.mine.sh("head -c 100000000 /dev/zero > ~/fill; stat -c %s ~/fill", user);
    expect(Number(stdout)).toBeLessThan(48 * MiB);
    // Two sandboxes of 48 MiB.
    expect(takenKiB()).toBeLessThan(100 * 1024);
    await box.other.says("head -c 10000000 /dev/zero > /tmp/neighbour && rm /tmp/neighbour");
    await box.mine.says("rm ~/fill", user);
    await bothAnswer();
  });

  test("a sandbox cannot promise itself more disk than it has", async () => {
    expect((await box.mine.sh("fallocate -l 200M ~/promise", user)).code).not.toBe(0);
    await box.mine.sh("rm -f ~/promise", user);
  });

  test("an inode filler runs out of inodes, and nobody else does", async () => {
    await box.mine.says("mkdir -p ~/many", user);
    const said = await box.mine.python(until('os.close(os.open(os.path.expanduser("~/many/%d") % count, os.O_CREAT))'), user);
    expect(said).toMatch(/^\d+ ENOSPC$/);
    expect(takenFiles()).toBeLessThan(50);
    await box.other.says("touch /tmp/neighbour");
    await box.mine.says("rm -rf ~/many", user);
  });

  test("shared memory ends at its size", async () => {
    const { stdout } = await box.mine.sh("head -c 100000000 /dev/zero > /dev/shm/fill; stat -c %s /dev/shm/fill; rm /dev/shm/fill", user);
    expect(Number(stdout)).toBeLessThanOrEqual(64 * MiB);
    await bothAnswer();
  });

  test("a hog of descriptors runs out of them, and nobody else does", async () => {
    expect(await box.mine.python(until("held.append(os.open('/dev/null', os.O_RDONLY))"), user)).toMatch(/^\d+ EMFILE$/);
    expect(await box.other.python("print(len([open('/dev/null') for _ in range(1000)]))")).toBe("1000");
  });

  test("the files that say where a sandbox is cannot be filled", async () => {
    const before = recordsTaken();
    for (const file of ["/etc/hosts", "/etc/hostname", "/etc/resolv.conf"]) {
      const { stdout } = await box.mine.sh(
        `cp ${file} /tmp/kept; head -c 5000000 /dev/zero > ${file}; stat -c %s ${file}; cat /tmp/kept > ${file}; rm /tmp/kept`,
        user,
      );
      expect(Number(stdout)).toBeLessThanOrEqual(1 * MiB);
    }
    expect(recordsTaken() - before).toBeLessThan(1 * MiB);
  });
});

test("a fork bomb stops at the limit of processes, and its daemon and its neighbour still answer", async () => {
  // The node's own limit is far above what this machine should have to bear for a test.
  const [file = ""] = globSync(`/sys/fs/cgroup/{pids/,}abx*/${box.mine.uid}/pids.max`);
  expect(Number(readFileSync(file, "utf8"))).toBeGreaterThan(0);
  writeFileSync(file, "100");
  // Which group counts a refusal differs between kernels.
  const refusals = (): number =>
    globSync(join(dirname(file), "{,*/}pids.events")).reduce(
      (sum, path) => sum + Number(/max (\d+)/.exec(readFileSync(path, "utf8"))?.[1]),
      0,
    );
  for (const user of users) {
    const before = refusals();
    await box.mine.says(
      "printf 'bomb() { bomb | bomb & }; bomb; sleep 3' > /tmp/bomb.sh; timeout -s KILL 4 bash /tmp/bomb.sh >/dev/null 2>&1 & disown",
      user,
    );
    await expect.poll(refusals).toBeGreaterThan(before);
    expect(box.mine.pids().length).toBeLessThanOrEqual(100);
    await bothAnswer();
    expect(await box.other.says("echo still here")).toBe("still here");
    for (let round = 0; round < 20 && box.mine.pids().length > 4; round++) {
      for (const pid of box.mine.pids()) defuse(pid);
    }
    await expect.poll(() => box.mine.pids().length).toBeLessThan(6);
  }
});

function defuse(pid: number): void {
  try {
    if (readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "bash") process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

test("a cpu hog is held to its limit, and its neighbour gets as much as the hog", async () => {
  const burn = (processes: number): string => `for n in $(seq ${processes}); do (while :; do :; done) & done >/dev/null 2>&1`;
  const used = async (): Promise<readonly number[]> =>
    Promise.all([box.mine, box.other].map(async ({ uid }) => (await box.world.node.runtime.usage(uid)).cpuNanos));
  const isThrottled = (): boolean => /nr_throttled [1-9]/.test(counter(box.mine, "cpu/cpu.stat", "cpu.stat"));
  const before = await used();
  const started = performance.now();
  // A fair share needs only one process on each processor, whatever else runs on the machine.
  const processors = availableParallelism();
  await Promise.all([box.mine.says(burn(4 * processors), "user"), box.other.says(burn(processors), "user")]);
  let [mine, other] = [0, 0];
  // As long as it takes them to use so much, and the hog to meet its limit: the rest of the machine may leave them little.
  while (mine + other < 3e9 || !isThrottled()) {
    await wait(100);
    [mine = 0, other = 0] = (await used()).map((value, index) => value - (before[index] ?? 0));
  }
  const wallNanos = (performance.now() - started) * 1e6;
  await Promise.all([box.mine, box.other].map((sandbox) => sandbox.sh("kill -9 -1", "user")));
  expect(mine).toBeLessThan(wallNanos * 0.5 * 1.3);
  expect(other).toBeGreaterThan(mine * 0.6);
});

const logsOf = ({ uid }: { readonly uid: string }): string[] => globSync(`${box.world.home}/logs/pods/*${uid}/main/*`);
const sizesOf = (paths: readonly string[]): number[] => paths.map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0);

test("the log of a sandbox that floods it is cut, and keeps to three files of its size", async () => {
  await box.mine.says("head -c 30000000 /dev/zero | tr '\\0' 'x' > /proc/1/fd/1");
  await expect.poll(() => Math.max(...sizesOf(logsOf(box.mine)))).toBeLessThanOrEqual(10 * MiB);
  await expect.poll(() => logsOf(box.mine).length).toBeGreaterThan(1);
  expect(logsOf(box.mine).length).toBeLessThanOrEqual(3);
  await bothAnswer();
});

test("the log of a sandbox that makes it look endless is cut without being copied", async () => {
  await box.mine.says("truncate -s 1T /proc/1/fd/1");
  await expect.poll(() => Math.max(...sizesOf(logsOf(box.mine)))).toBeLessThanOrEqual(10 * MiB);
});

test("a sandbox cannot take the machine's disk by way of its log", async () => {
  const source = `
import os
log = os.open("/proc/1/fd/1", os.O_WRONLY)
os.posix_fallocate(log, 0, 512 << 20)`;
  await expect(box.mine.python(source)).rejects.toThrow("No space left on device");
});

/** Runs Python as the first process of a pod and resolves when the pod has failed. */
async function failed(name: string, source: string): Promise<Pod | undefined> {
  const container = { name: "main", image: "host", command: ["python3", "-c", source] };
  const spec = { restartPolicy: "Never" as const, containers: [{ ...container, resources: { limits: { memory: "64Mi" } } }] };
  await box.world.store.create(Pods, { metadata: { namespace: "default", name }, spec });
  for await (const event of box.world.store.watch(Pods, { namespace: "default", fieldSelector: `metadata.name=${name}` })) {
    if (event.type !== "BOOKMARK" && event.object.status?.phase === "Failed") return event.object;
  }
  return undefined;
}

test("a container whose first process is the memory hog is reported as killed for its memory", async () => {
  const pod = await failed("hog", "held = [bytearray(1 << 20) for _ in range(400)]");
  expect(pod?.status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({ reason: "OOMKilled", exitCode: 137 });
});

/** Of its own kernel's memory, nothing is charged to the sandbox. It ends by itself where nothing ends it. */
const takesLocks = `
import fcntl, os
for number in range(2000):
    file = os.open("/tmp/locked-%d" % number, os.O_RDWR | os.O_CREAT)
    for at in range(0, 2000, 2): fcntl.lockf(file, fcntl.LOCK_EX, 1, at)`;

test("a sandbox that takes locks of files without end is killed for its memory, and nobody else is", async () => {
  const pod = await failed("locks", takesLocks);
  expect(pod?.status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({ reason: "OOMKilled", exitCode: 137 });
  await bothAnswer();
});
