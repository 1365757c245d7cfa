/**
 * The logs of all containers of this node.
 *
 * - `container-logs.ts`  limits their size, removes them with their pods, opens them for readers
 * - `log-files.ts`       where they are
 * - `growing-logs.ts`    which of them may have grown
 * - `rotate-log.ts`      cuts one
 * - `log-times.ts`       when each part was written
 * - `read-log.ts`, `last-lines.ts`   read one
 *
 * Containers write into the files themselves, so that they go on when the agent is gone. A container can therefore write more than its
 * share between two checks; the next check cuts the log.
 */
import { mkdirSync, closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock, Timer } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { GrowingLogs, type WatchLog } from "./growing-logs.ts";
import { attemptOf, logName, type LoggedPod, namesIn, newestLogs, podFolder, uidOfFolder } from "./log-files.ts";
import { LogTimes } from "./log-times.ts";
import { followLog, type LogCuts, type LogRange, readLog } from "./read-log.ts";
import { defaultLogLimits, type LogLimits, rotateLog } from "./rotate-log.ts";

export interface ContainerLogsOptions {
  /** The agent's data folder. */
  readonly home: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits?: LogLimits | undefined;
  readonly watchLog?: WatchLog | undefined;
}

export interface OpenLog extends LogRange {
  readonly pod: LoggedPod;
  readonly container: string;
  readonly attempt: number;
  /** Set to go on reading while the container writes. */
  readonly follow?: { readonly signal: AbortSignal; readonly isWritten: () => Promise<boolean> };
}

interface Watched {
  readonly file: string;
  readonly times: LogTimes;
  cuts: LogCuts;
  /** Of the attempt before. */
  readonly former: Pick<Watched, "file" | "times"> | undefined;
}

const lookEveryMs = 1_000;
const uncut: LogCuts = { count: 0, leftOut: 0 };

export class ContainerLogs {
  readonly #root: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #limits: LogLimits;
  /** By folder of the pod, then by folder of the container: logs that may still grow. */
  readonly #watched = new Map<string, Map<string, Watched>>();
  readonly #growing: GrowingLogs<Watched>;
  /** What goes on in the background; waited for at the end. */
  readonly #removals = new Set<Promise<void>>();
  #timer: Timer | undefined;
  #looking: Promise<void> | undefined;
  #stopped = false;

  constructor({ home, clock, log, limits = defaultLogLimits, watchLog }: ContainerLogsOptions) {
    this.#growing = new GrowingLogs(watchLog);
    this.#root = join(home, "logs", "pods");
    this.#clock = clock;
    this.#log = log;
    this.#limits = limits;
  }

  /** Goes on with what an earlier agent left, without the pods that are gone, and keeps logs short from now on. */
  async start(isThere: (uid: string) => boolean): Promise<void> {
    for (const folder of await namesIn(this.#root)) {
      if (!isThere(uidOfFolder(folder))) this.#remove(join(this.#root, folder));
    }
    for (const file of await newestLogs(this.#root)) this.#watch(file);
    this.#schedule();
  }

  /** The file for a new container. Its folder is there then; logs of all but the attempt before it go. */
  prepare(pod: LoggedPod, container: string, attempt: number): string {
    const folder = join(this.#root, podFolder(pod), container);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (attempt > 0) this.#inBackground(this.#removeBefore(folder, attempt - 1));
    const file = join(folder, logName(attempt));
    this.#watch(file);
    return file;
  }

  remove(pod: LoggedPod): void {
    this.#remove(join(this.#root, podFolder(pod)));
  }

  /** The end of what a container wrote; nothing when there is nothing to read. */
  lastWords(pod: LoggedPod, container: string, attempt: number): string {
    return endOf(join(this.#root, podFolder(pod), container, logName(attempt)));
  }

  read({ pod, container, attempt, follow, ...range }: OpenLog): AsyncIterable<Buffer> {
    const file = join(this.#root, podFolder(pod), container, logName(attempt));
    const newest = this.#watched.get(join(this.#root, podFolder(pod)))?.get(dirname(file));
    const watched = newest?.file === file ? newest : undefined;
    const times = watched?.times ?? (newest?.former?.file === file ? newest.former.times : undefined);
    const offsetAt = (time: number): number => times?.offsetAt(time) ?? 0;
    const log = { file, ...this.#limits, ...range, offsetAt };
    if (follow === undefined) return readLog(log);
    return followLog({ ...log, signal: follow.signal }, { ...follow, clock: this.#clock, cuts: () => watched?.cuts ?? uncut });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#looking;
    this.#growing.stop();
    await Promise.all(this.#removals);
  }

  #watch(file: string): void {
    const folder = dirname(file);
    const ofPod = this.#watched.get(dirname(folder)) ?? new Map<string, Watched>();
    this.#watched.set(dirname(folder), ofPod);
    const before = ofPod.get(folder);
    if (before !== undefined) this.#growing.remove(before);
    const watched: Watched = { file, times: new LogTimes(), cuts: uncut, former: before && formerOf(before) };
    ofPod.set(folder, watched);
    this.#growing.add(watched, this.#clock.now());
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = this.#clock.after(lookEveryMs, () => {
      this.#looking = this.#lookAtAll().finally(() => this.#schedule());
    });
  }

  async #lookAtAll(): Promise<void> {
    for (const watched of this.#growing.due(this.#clock.now())) {
      await this.#clock.turns?.next();
      if (!this.#isWatched(watched)) continue;
      try {
        const again = this.#growing.looked(watched, await this.#look(watched), this.#clock.now());
        if (again && (await this.#look(watched))) this.#growing.looked(watched, true, this.#clock.now());
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.#log.warn({ error, file: watched.file }, "log not rotated");
      }
    }
  }

  /** It may have gone while others were looked at. */
  #isWatched(watched: Watched): boolean {
    const folder = dirname(watched.file);
    return this.#watched.get(dirname(folder))?.get(folder) === watched;
  }

  /** Whether something was written since the last look. */
  async #look(watched: Watched): Promise<boolean> {
    const { file } = watched;
    // Synchronous: the way through another thread would cost twenty times as much.
    const size = statSync(file, { throwIfNoEntry: false })?.size;
    if (size === undefined) return false;
    const hasGrown = watched.times.mark(this.#clock.now(), size);
    if (size <= this.#limits.maxBytes) return hasGrown;
    const { leftOut } = await rotateLog(file, size, this.#limits);
    watched.cuts = { count: watched.cuts.count + 1, leftOut };
    watched.times.clear();
    return true;
  }

  async #removeBefore(folder: string, attempt: number): Promise<void> {
    for (const name of await namesIn(folder)) {
      const number = attemptOf(name);
      if (number !== undefined && number < attempt) await rm(join(folder, name), { force: true });
    }
  }

  #remove(folder: string): void {
    for (const watched of this.#watched.get(folder)?.values() ?? []) this.#growing.remove(watched);
    this.#watched.delete(folder);
    this.#inBackground(rm(folder, { recursive: true, force: true }));
  }

  #inBackground(work: Promise<void>): void {
    const noted = work.catch((error: unknown) => this.#log.warn({ error }, "log not removed")).finally(() => this.#removals.delete(noted));
    this.#removals.add(noted);
  }
}

/** Without its own former one. */
function formerOf({ file, times }: Watched): NonNullable<Watched["former"]> {
  return { file, times };
}

const maxBytes = 2_048;
const maxLines = 80;

/** The last lines of a file. Synchronous: the read is small, and the caller needs the result before it goes on. */
function endOf(file: string): string {
  let handle: number | undefined;
  try {
    handle = openSync(file, "r");
    const { size } = fstatSync(handle);
    const buffer = Buffer.alloc(Math.min(size, maxBytes));
    readSync(handle, buffer, { position: size - buffer.length });
    return buffer.toString().split("\n").slice(-maxLines).join("\n");
  } catch {
    return "";
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}
