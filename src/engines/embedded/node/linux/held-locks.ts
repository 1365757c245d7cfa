/**
 * Locks of files. The kernel charges their memory to no group and limits their number for no user, and a filter of system calls does not
 * see what a call locks. So they can only be counted: for the whole machine, which costs nothing, and process by process, which can take long.
 * /proc/locks is not for that: reading it takes the square of their number, and stops all locking meanwhile.
 */
import { type FileHandle, open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "#lib/native/files.ts";
import { systemCall } from "./libc.ts";

const machineCount = "/sys/kernel/slab/file_lock_cache/objects";
/** Room for some 20,000 lines: more locks need not be told apart. */
const mostRead = 1024 * 1024;
/** `KCMP_FILES`. */
const openFiles = 2;

/** About how many the kernel has room for. It may share that room with other things of the same size. Undefined: it does not say. */
export async function locksOfMachine(file = machineCount): Promise<number | undefined> {
  try {
    const count = Number.parseInt(await readFile(file, "utf8"), 10);
    return Number.isNaN(count) ? undefined : count;
  } catch (error) {
    if (hasCode(error, "ENOENT", "EACCES", "EPERM")) return undefined;
    throw error;
  }
}

/** How many a process holds, file by file, so that the caller can stop when it knows enough. */
export async function* locksOf(pid: number): AsyncGenerator<number, void> {
  const threads = join("/proc", String(pid), "task");
  // A thread can have open files of its own, and the first one can end before the others: its files are not all that the process has.
  const counted: number[] = [];
  for (const thread of (await unlessGone(readdir(threads), [])).map(Number)) {
    if (counted.some((other) => haveSameFiles(other, thread))) {
      yield 0;
      continue;
    }
    counted.push(thread);
    const folder = join(threads, String(thread), "fdinfo");
    for (const name of await unlessGone(readdir(folder), [])) yield await locksIn(join(folder, name));
  }
}

/** Nothing is counted twice where the kernel does not say. */
function haveSameFiles(one: number, other: number): boolean {
  try {
    return systemCall("kcmp", [one, other, openFiles, 0, 0], `threads ${one} and ${other}`) === 0;
  } catch (error) {
    return !hasCode(error, "ESRCH");
  }
}

async function locksIn(file: string): Promise<number> {
  const handle = await unlessGone<FileHandle | undefined>(open(file), undefined);
  if (handle === undefined) return 0;
  try {
    return countLines(await unlessGone(beginningOf(handle), ""));
  } finally {
    await handle.close();
  }
}

async function beginningOf(handle: FileHandle): Promise<string> {
  const parts: Buffer[] = [];
  for (let left = mostRead; left > 0;) {
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(Math.min(left, 64 * 1024)));
    if (bytesRead === 0) break;
    parts.push(buffer.subarray(0, bytesRead));
    left -= bytesRead;
  }
  return Buffer.concat(parts).toString("latin1");
}

function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("lock:"); at !== -1; at = text.indexOf("lock:", at + 1)) count++;
  return count;
}

/** A process ends, and closes its files, whenever it likes. */
async function unlessGone<T>(work: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (hasCode(error, "ENOENT", "ESRCH", "EACCES")) return otherwise;
    throw error;
  }
}
