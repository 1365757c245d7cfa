import { readlinkSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { hostname } from "node:os";
import { describe, expect, test } from "vitest";
import { twoNeighbours, users } from "./sandboxes.ts";

const box = twoNeighbours();
const kinds = ["pid", "mnt", "ipc", "uts", "net", "user", "cgroup"] as const;

describe.each(kinds)("the %s namespace of a sandbox", (kind) => {
  test("is not the machine's", async () => {
    expect(await box.mine.says(`readlink /proc/self/ns/${kind}`)).not.toBe(readlinkSync(`/proc/self/ns/${kind}`));
  });

  test("is not another sandbox's", async () => {
    const [mine, other] = await Promise.all([box.mine, box.other].map((each) => each.says(`readlink /proc/self/ns/${kind}`)));
    expect(mine).not.toBe(other);
  });
});

/** Prints what a statement raises, or `done`. */
const outcome = (statement: string): string => `
import ctypes, errno, os, signal, socket
libc = ctypes.CDLL(None, use_errno=True)
def checked(result):
    if result < 0: raise OSError(ctypes.get_errno(), "")
try:
    ${statement}
    print("done")
except OSError as error:
    print(errno.errorcode.get(error.errno, error.errno))
`;

describe.each(users)("as %s", (user) => {
  test("a sandbox sees its own processes only", async () => {
    const seen = (await box.mine.says("ls -d /proc/[0-9]* | wc -l; cat /proc/[0-9]*/cmdline | tr '\\0' ' '", user)).split("\n");
    expect(Number(seen[0])).toBeLessThan(12);
    expect(seen[1]).toContain("/.envd/init");
    expect(seen[1]).not.toContain("vitest");
  });

  test("the processes of the machine are not there to be looked at, signalled or traced", async () => {
    // Numbers inside are small; the machine's are given to processes that a sandbox does not have.
    const [pid, neighbour] = [process.pid, box.other.pid];
    for (const each of [pid, neighbour]) {
      expect(await box.mine.python(outcome(`os.stat("/proc/${each}")`), user)).toBe("ENOENT");
      expect(await box.mine.python(outcome(`os.kill(${each}, 0)`), user)).toBe("ESRCH");
      expect(await box.mine.python(outcome(`checked(libc.ptrace(16, ${each}, 0, 0))`), user)).toBe("ESRCH");
    }
  });

  test("nsenter and unshare lead nowhere", async () => {
    const lines = ["nsenter -t 1 -m -u -i -n -p true", "unshare -U true", "unshare -r -m true", "unshare -n true", "unshare -p -f true"];
    for (const line of lines) expect((await box.mine.sh(line, user)).code).not.toBe(0);
  });

  test("mount, umount and remount are refused", async () => {
    const lines = [
      "mount -t tmpfs none /mnt",
      "mount --bind /etc /mnt",
      "mount -t proc proc /mnt",
      "mount -t cgroup -o memory none /mnt",
      "mount -t overlay overlay -o lowerdir=/usr:/etc /mnt",
      "umount -l /proc/kallsyms",
      "umount /usr",
      "mount -o remount,rw /proc/sys",
      "mount -o remount,rw /.envd",
      "mount -o remount,rw /sys",
    ];
    for (const line of lines) expect({ line, code: (await box.mine.sh(line, user)).code }).not.toMatchObject({ code: 0 });
  });

  test.each([
    ["the machine's first disk", "0o060600, os.makedev(8, 0)"],
    ["a loop device", "0o060600, os.makedev(7, 0)"],
    ["the machine's memory", "0o020600, os.makedev(1, 1)"],
    ["the kernel's messages", "0o020600, os.makedev(1, 11)"],
    ["a port of the network", "0o020600, os.makedev(10, 200)"],
    ["a virtual machine", "0o020600, os.makedev(10, 232)"],
  ])("a device for %s cannot be made", async (_, node) => {
    expect(await box.mine.python(outcome(`os.mknod("/tmp/device-${user}", ${node})`), user)).toBe("EPERM");
  });

  test("shared memory and semaphores of a neighbour are not there", async () => {
    await box.other.says("ipcmk -M 4096 -p 0666 && ipcmk -S 1 -p 0666 && ipcmk -Q -p 0666");
    expect(await box.other.says("ipcs | grep -c ^0x")).not.toBe("0");
    expect((await box.mine.sh("ipcs | grep -c ^0x", user)).stdout.trim()).toBe("0");
  });

  test("message queues and shared files of a neighbour are not there", async () => {
    await box.other.says("touch /dev/shm/neighbour /dev/mqueue/neighbour");
    expect((await box.mine.sh("ls /dev/shm/neighbour /dev/mqueue/neighbour", user)).stdout).toBe("");
  });

  test("abstract sockets of the machine and of a neighbour cannot be connected to", async () => {
    await using server = createServer().listen("\0agentbox-isolation");
    await box.other.says(
      `python3 -c '
import socket, time
s = socket.socket(socket.AF_UNIX); s.bind("\\0agentbox-neighbour-${user}"); s.listen(); time.sleep(20)' >/dev/null 2>&1 & disown`,
    );
    await expect.poll(() => box.other.says("grep -c agentbox-neighbour /proc/net/unix || true")).not.toBe("0");
    for (const name of ["agentbox-isolation", `agentbox-neighbour-${user}`]) {
      expect(await box.mine.python(outcome(`socket.socket(socket.AF_UNIX).connect("\\0${name}")`), user)).toBe("ECONNREFUSED");
    }
    expect(server.listening).toBe(true);
  });
});

test("the old way out of a chroot ends in the sandbox's own root", async () => {
  const source = `
import os
home = os.stat("/")
os.makedirs("/tmp/cell", exist_ok=True)
out = os.open("/", os.O_RDONLY)
os.chroot("/tmp/cell")
os.fchdir(out)
for _ in range(100): os.chdir("..")
os.chroot(".")
now = os.stat("/")
print((home.st_dev, home.st_ino) == (now.st_dev, now.st_ino), os.path.exists("/.envd"))`;
  expect(await box.mine.python(source)).toBe("True True");
});

test("the first process is the sandbox's own, and so is its root", async () => {
  expect(await box.mine.says("cat /proc/1/comm")).toBe("init");
  expect(await box.mine.says("stat -c %d:%i /proc/1/root/ /proc/self/root/ /")).toMatch(/^(\S+)\n\1\n\1$/);
});

test("a sandbox has a name of its own", async () => {
  expect(await Promise.all([box.mine.says("hostname"), box.other.says("hostname")])).toEqual(["mine", "other"]);
  expect(hostname()).not.toBe("mine");
});

test("killing everything kills nothing outside", async () => {
  const before = box.other.pid;
  await box.mine.sh("kill -TERM -1", "user");
  expect(box.other.pid).toBe(before);
  expect(statSync(`/proc/${process.pid}`).isDirectory()).toBe(true);
  expect(await box.mine.health()).toBe(204);
});
