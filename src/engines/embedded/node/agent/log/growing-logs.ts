/**
 * Which logs may have grown. One in which nothing was written for a while is not asked for its size any more: the kernel tells when something
 * changes in its folder. So thousands of containers that wait cost nothing, and one that begins to write is looked at within a second.
 */
import { realpathSync, watch } from "node:fs";
import { dirname } from "node:path";

/** Calls `onChange` when something is written into the log, until the returned function is called. Undefined: it cannot be watched. */
export type WatchLog = (file: string, onChange: () => void) => (() => void) | undefined;

/** So long nothing was written. */
const quietAfterMs = 10_000;
/** All are looked at after this, whatever the kernel tells. */
const allEveryMs = 60_000;

export class GrowingLogs<T extends { readonly file: string }> {
  readonly #watchLog: WatchLog;
  /** With the time since which nothing was written. */
  readonly #growing = new Map<T, number>();
  /** With what ends the watching. */
  readonly #quiet = new Map<T, () => void>();
  #allAtMs = -Infinity;

  constructor(watchLog: WatchLog = watchedLog) {
    this.#watchLog = watchLog;
  }

  add(log: T, nowMs: number): void {
    this.#growing.set(log, nowMs);
  }

  remove(log: T): void {
    this.#growing.delete(log);
    this.#quiet.get(log)?.();
    this.#quiet.delete(log);
  }

  /** Those to be looked at now. */
  due(nowMs: number): readonly T[] {
    if (nowMs - this.#allAtMs < allEveryMs) return [...this.#growing.keys()];
    this.#allAtMs = nowMs;
    return [...this.#growing.keys(), ...this.#quiet.keys()];
  }

  /** What a look has found. True: look once more, something may have been written before the watching began. */
  looked(log: T, hasGrown: boolean, nowMs: number): boolean {
    if (hasGrown) {
      this.#grows(log, nowMs);
      return false;
    }
    const sinceMs = this.#growing.get(log);
    if (sinceMs === undefined || nowMs - sinceMs < quietAfterMs) return false;
    // Watching ends with the first change: a container that writes much would make an event of each line.
    const end = this.#watchLog(log.file, () => this.#grows(log, sinceMs));
    if (end === undefined) return false;
    this.#growing.delete(log);
    this.#quiet.set(log, end);
    return true;
  }

  stop(): void {
    for (const end of this.#quiet.values()) end();
    this.#quiet.clear();
    this.#growing.clear();
  }

  /** Not one that was removed meanwhile. */
  #grows(log: T, sinceMs: number): void {
    if (!this.#growing.has(log) && !this.#quiet.has(log)) return;
    this.remove(log);
    this.add(log, sinceMs);
  }
}

/** The kernel tells of writes in the folder that has the file itself: a log is on the disk of its pod, and its own place has a link to it. */
export function watchedLog(file: string, onChange: () => void): (() => void) | undefined {
  try {
    const watcher = watch(dirname(realpathSync(file)), { persistent: false }, onChange);
    // Such as its removal.
    watcher.on("error", onChange);
    return () => watcher.close();
  } catch {
    // The machine has no more watches for this user, or the log is gone: it is asked for as before.
    return undefined;
  }
}
