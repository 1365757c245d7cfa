/**
 * Locks between all users of one store, in this process and in others. The kernel keeps them, so a killed process leaves none behind.
 * A caller that needs several locks takes the store's own first, and never two of one kind.
 */
import { close, fstatSync, openSync, statSync, unlinkSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Clock, sleep } from "#lib/clock.ts";
import { type LockMode, tryLockFile } from "#lib/native/files.ts";

export type FileLock = AsyncDisposable;

const closeFile = promisify(close);

/** Waiting is for downloads and unpacking, which take seconds. */
const firstWaitMs = 10;
const longestWaitMs = 200;

export class FileLocks {
  readonly #folder: string;
  readonly #clock: Clock;

  constructor(folder: string, clock: Clock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  /** Waits until no holder of the lock of this name excludes `mode`, and takes it. */
  async acquire(name: string, mode: LockMode, signal?: AbortSignal): Promise<FileLock> {
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
      signal?.throwIfAborted();
      const lock = await this.tryAcquire(name, mode);
      if (lock !== undefined) return lock;
      await sleep(this.#clock, waitMs, signal);
    }
  }

  /** Does the work while holding the lock. */
  async holding<T>(name: string, mode: LockMode, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const lock = await this.acquire(name, mode, signal);
    try {
      return await work();
    } finally {
      await lock[Symbol.asyncDispose]();
    }
  }

  /** The lock if it is free now. */
  async tryAcquire(name: string, mode: LockMode): Promise<FileLock | undefined> {
    await mkdir(this.#folder, { recursive: true });
    const path = join(this.#folder, name);
    const fd = openSync(path, "a", 0o600);
    // Its last holder may have removed the file between our opening and locking it; then this lock excludes no other process.
    if (tryLockFile(fd, mode) && isStill(path, fd)) return heldLock(path, fd);
    await closeFile(fd);
    return undefined;
  }
}

/** Releases only once: afterwards the number may belong to another open file. */
function heldLock(path: string, fd: number): FileLock {
  let released: Promise<void> | undefined;
  return { [Symbol.asyncDispose]: () => (released ??= release(path, fd)) };
}

/** Removes the file if no other process holds it, so that files of long forgotten layers do not pile up. */
async function release(path: string, fd: number): Promise<void> {
  if (tryLockFile(fd, "exclusive") && isStill(path, fd)) unlinkSync(path);
  await closeFile(fd);
}

function isStill(path: string, fd: number): boolean {
  const [there, opened] = [statSync(path, { throwIfNoEntry: false }), fstatSync(fd)];
  return there?.ino === opened.ino && there.dev === opened.dev;
}
