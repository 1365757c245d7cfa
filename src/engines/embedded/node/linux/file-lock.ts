import { closeSync, openSync } from "node:fs";
import { type Clock, sleep } from "#lib/clock.ts";
import { tryLockFile } from "#lib/native/files.ts";

/** A lock that ends with its process, however that ends. The file stays; only the lock on it means something. */
export class FileLock implements Disposable {
  readonly #descriptor: number;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** The lock, or undefined if another process has it. */
  static tryTake(path: string): FileLock | undefined {
    const descriptor = openSync(path, "a", 0o600);
    if (tryLockFile(descriptor, "exclusive")) return new FileLock(descriptor);
    closeSync(descriptor);
    return undefined;
  }

  /** Waits for a lock that is usually released soon; undefined if it is not released in time. */
  static async take(path: string, clock: Clock, patienceMs: number): Promise<FileLock | undefined> {
    const deadline = clock.now() + patienceMs;
    for (;;) {
      const lock = FileLock.tryTake(path);
      if (lock !== undefined || clock.now() >= deadline) return lock;
      await sleep(clock, retryMs);
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }
}

const retryMs = 20;
const patienceMs = 10_000;

/** Does some work that only one process at a time may do; others wait for their turn. */
export async function whileLocked<T>(path: string, clock: Clock, work: () => Promise<T>): Promise<T> {
  using lock = await FileLock.take(path, clock, patienceMs);
  if (lock === undefined) throw new Error(`${path} has been locked by another process for ${patienceMs / 1000} s`);
  return await work();
}
