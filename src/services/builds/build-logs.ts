/**
 * The logs of builds, one file each in the data folder. A line is there once `add` has returned, whatever becomes of the process. A log has a size that it does
 * not pass: then it says so, and what a step prints from there on is gone; the lines about steps still come.
 */
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { BuildLogEntry, LogLevel } from "#builds/build-log.ts";
import { nameOfStep, type StepName } from "#builds/build-failure.ts";
import type { Clock } from "#lib/clock.ts";

export interface BuildLogsOptions {
  readonly folder: string;
  readonly clock: Clock;
  readonly maxBytes?: number;
}

/** Reading one anew takes the server's thread for as long as it is. */
const usualMaxBytes = 2 * 1024 ** 2;
const keptInMemory = 16;
/** For lines about steps, after the output of steps has filled the log. */
const reserveBytes = 256 * 1024;
const idPattern = /^[0-9a-f-]{36}$/;

export interface NewLine {
  readonly level?: LogLevel;
  readonly message: string;
  readonly step?: StepName;
  /** Of a command, and not ours. */
  readonly isOutput?: boolean;
}

interface OpenLog {
  bytes: number;
  isFull: boolean;
}

export class BuildLogs {
  readonly #options: BuildLogsOptions;
  readonly #open = new Map<string, OpenLog>();
  /** The one that was read last is the last. */
  readonly #read = new Map<string, BuildLogEntry[]>();

  constructor(options: BuildLogsOptions) {
    this.#options = options;
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  }

  add(buildId: string, { level = "info", message, step, isOutput = false }: NewLine): void {
    const log = this.#logOf(buildId);
    const { maxBytes = usualMaxBytes } = this.#options;
    if (log.isFull && isOutput) return;
    if (isOutput && log.bytes > maxBytes) {
      log.isFull = true;
      this.#write(buildId, log, {
        level: "warn",
        message: `the log has more than ${maxBytes} bytes: what steps print is left out from here on`,
      });
      return;
    }
    if (log.bytes > maxBytes + reserveBytes) return;
    this.#write(buildId, log, { level, message, ...(step !== undefined && { step: nameOfStep(step) }) });
  }

  /** Empty for a build without a log. Clients ask several times a second, so what was read last stays in memory. */
  read(buildId: string): readonly BuildLogEntry[] {
    const known = this.#read.get(buildId);
    this.#read.delete(buildId);
    const entries = known ?? this.#entriesOf(buildId);
    this.#read.set(buildId, entries);
    for (const [oldest] of this.#read) if (this.#read.size > keptInMemory) this.#read.delete(oldest);
    return entries;
  }

  remove(buildId: string): void {
    this.#open.delete(buildId);
    this.#read.delete(buildId);
    const path = this.#path(buildId);
    if (path !== undefined) rmSync(path, { force: true });
  }

  /** Of builds that are not known any more. */
  removeOthers(isKnown: (buildId: string) => boolean): void {
    for (const name of readdirSync(this.#options.folder)) {
      const id = name.replace(/\.jsonl$/, "");
      if (!isKnown(id)) rmSync(join(this.#options.folder, name), { force: true });
    }
  }

  #entriesOf(buildId: string): BuildLogEntry[] {
    const path = this.#path(buildId);
    if (path === undefined || !existsSync(path)) return [];
    return readFileSync(path, "utf8")
      .split("\n")
      .flatMap((line) => entryIn(line));
  }

  #logOf(buildId: string): OpenLog {
    const known = this.#open.get(buildId);
    if (known !== undefined) return known;
    const path = this.#path(buildId);
    const bytes = path === undefined ? 0 : (statSync(path, { throwIfNoEntry: false })?.size ?? 0);
    const log = { bytes, isFull: false };
    this.#open.set(buildId, log);
    return log;
  }

  #write(buildId: string, log: OpenLog, entry: Omit<BuildLogEntry, "timestamp">): void {
    const path = this.#path(buildId);
    if (path === undefined) throw new Error(`${buildId} is no id of a build`);
    const whole = { timestamp: new Date(this.#options.clock.now()).toISOString(), ...entry };
    const line = `${JSON.stringify(whole)}\n`;
    appendFileSync(path, line, { mode: 0o600 });
    this.#read.get(buildId)?.push(whole);
    log.bytes += Buffer.byteLength(line);
  }

  /** Ids come from requests, and a path must not. */
  #path(buildId: string): string | undefined {
    return idPattern.test(buildId) ? join(this.#options.folder, `${buildId}.jsonl`) : undefined;
  }
}

/** The last line may have been cut by the end of the process. */
function entryIn(line: string): readonly BuildLogEntry[] {
  if (line === "") return [];
  try {
    return [JSON.parse(line) as BuildLogEntry];
  } catch {
    return [];
  }
}
