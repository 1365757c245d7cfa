import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { locksOf, locksOfMachine } from "./held-locks.ts";

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "agentbox-locks-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

const holder = `
import fcntl, os, sys
files = [open(os.path.join(sys.argv[1], str(n)), "w") for n in range(3)]
for n in range(700): fcntl.lockf(files[0], fcntl.LOCK_EX, 1, 2 * n)
fcntl.flock(files[1], fcntl.LOCK_SH)
print("ready", flush=True)
sys.stdin.read()
`;

test("the locks of a process are counted file by file, of every kind", async () => {
  const child = spawn("python3", ["-c", holder, newFolder()], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill());
  await once(child.stdout, "data");
  const counts = await Array.fromAsync(locksOf(child.pid ?? 0));
  expect(counts.filter((count) => count > 0)).toEqual([700, 1]);
});

const threads = `
import ctypes, fcntl, os, sys, threading
def lock(name, count):
    file = open(os.path.join(sys.argv[1], name), "w")
    for n in range(count): fcntl.lockf(file, fcntl.LOCK_EX, 1, 2 * n)
    ready.wait()
    threading.Event().wait()
def lockAlone():
    ctypes.CDLL(None).unshare(0x400)
    lock("own", 300)
ready = threading.Barrier(3)
for work in [lambda: lock("shared", 50), lockAlone]: threading.Thread(target=work, daemon=True).start()
ready.wait()
print("ready", flush=True)
sys.stdin.read()
`;

test("a thread cannot hide locks in open files of its own, and those that threads share count once", async () => {
  const child = spawn("python3", ["-c", threads, newFolder()], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill());
  await once(child.stdout, "data");
  const counts = await Array.fromAsync(locksOf(child.pid ?? 0));
  expect(counts.filter((count) => count > 0)).toEqual([50, 300]);
});

test("a process that is gone holds none", async () => {
  expect(await Array.fromAsync(locksOf(2 ** 30))).toEqual([]);
});

test("of the machine the kernel's number is taken, and none where it says nothing", async () => {
  const file = join(newFolder(), "objects");
  expect(await locksOfMachine(file)).toBeUndefined();
  writeFileSync(file, "200046 N0=200046\n");
  expect(await locksOfMachine(file)).toBe(200_046);
});
