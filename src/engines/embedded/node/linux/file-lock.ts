import { closeSync, openSync } from "node:fs";
import { type Clock, sleep } from "#lib/clock.ts";
import { tryLockFile } from "#lib/native/files.ts";

/** A lock that ends with its process, however that ends. The file stays; only the lock on it means something. */
export class FileLock implements Disposable {
  readonly #descriptor: number;

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  /** The lock, or undefined if somebody else has it. */
  static tryTake(path: string): FileLock | undefined {
    const descriptor = openSync(path, "a", 0o600);
    if (tryLockFile(descriptor, "exclusive")) return new FileLock(descriptor);
    closeSync(descriptor);
    return undefined;
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }
}

const retryMs = 20;
const retries = 500;

/** Does some work that only one process at a time may do; others wait for their turn. */
export async function whileLocked<T>(path: string, clock: Clock, work: () => Promise<T>): Promise<T> {
  for (let attempt = 0; attempt < retries; attempt++) {
    using lock = FileLock.tryTake(path);
    if (lock !== undefined) return await work();
    await sleep(clock, retryMs);
  }
  throw new Error(`${path} has been locked by another process for ${(retryMs * retries) / 1000} s`);
}
