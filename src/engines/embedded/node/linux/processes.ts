/** Processes that are not (or no longer) children of Node: how to identify them, how to signal them, how they ended. */
import { closeSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { onReadable, systemCall } from "./libc.ts";
import { hasCode } from "#lib/native/files.ts";

/** A pid is given out again after its process is gone; together with the start time it names one process for ever. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot: field 22 of /proc/PID/stat. */
  readonly startTime: number;
}

export type Signal = keyof typeof constants.signals;

const becomeSubreaperOption = 36;
const noHang = 1;
/** `_IOWR(PIDFS_IOCTL_MAGIC, 11, struct pidfd_info)` in its first size of 64 bytes. */
const pidfdGetInfo = 0xc040_ff0b;
const exitInfoMask = 8n;

export interface ProcessStat {
  readonly state: string;
  readonly parent: number;
  readonly startTime: number;
  readonly waitStatus: number;
}

/** What /proc/PID/stat says; undefined when there is no such process. */
export function readStat(pid: number): ProcessStat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch (error) {
    if (hasCode(error, "ENOENT", "ESRCH")) return undefined;
    throw error;
  }
}

/** The second field is the program's name in brackets and may hold anything, brackets and blanks too. */
export function parseStat(text: string): ProcessStat {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0] ?? "", parent: Number(fields[1]), startTime: Number(fields[19]), waitStatus: Number(fields[49]) };
}

/** The process that has the number `pid` now; undefined if there is none. */
export function identify(pid: number): ProcessIdentity | undefined {
  const stat = readStat(pid);
  return stat === undefined ? undefined : { pid, startTime: stat.startTime };
}

/**
 * From now on orphaned descendants become our children, and their exit codes wait for us. Only `readExit` collects them; Node
 * collects only the processes that it started itself.
 */
export function adoptOrphans(): void {
  systemCall("prctl", [becomeSubreaperOption, 1, 0, 0, 0], "become the reaper of orphaned descendants");
}

/** How a process ended: a code, or 128 + the signal that killed it. */
export interface ProcessExit {
  readonly code: number;
  readonly signal?: number;
}

/** Decodes the status word of wait(2). */
export function decodeWaitStatus(status: number): ProcessExit {
  const signal = status & 0x7f;
  return signal === 0 ? { code: (status >> 8) & 0xff } : { code: 128 + signal, signal };
}

/** A held process: its pid cannot come to mean another one. Release it when done. */
export class HeldProcess {
  readonly identity: ProcessIdentity;
  readonly #descriptor: number;
  #watch: { close(): void } | undefined;
  #released = false;

  private constructor(identity: ProcessIdentity, descriptor: number) {
    this.identity = identity;
    this.#descriptor = descriptor;
  }

  /** Takes hold of a process, dead but not collected ones included; undefined if it is gone. */
  static hold(wanted: ProcessIdentity): HeldProcess | undefined {
    let descriptor: number;
    try {
      descriptor = systemCall("pidfd_open", [wanted.pid, 0], `of process ${wanted.pid}`);
    } catch (error) {
      if (hasCode(error, "ESRCH", "EINVAL")) return undefined;
      throw error;
    }
    if (readStat(wanted.pid)?.startTime === wanted.startTime) return new HeldProcess(wanted, descriptor);
    closeSync(descriptor);
    return undefined;
  }

  /** Calls back once, when the process has ended. */
  onEnd(ended: () => void): void {
    this.#watch = onReadable(this.#descriptor, ended);
  }

  /** Sends a signal; false if the process has ended. */
  signal(signal: Signal): boolean {
    try {
      systemCall("pidfd_send_signal", [this.#descriptor, constants.signals[signal], null, 0], `${signal} to process ${this.identity.pid}`);
      return true;
    } catch (error) {
      if (hasCode(error, "ESRCH")) return false;
      throw error;
    }
  }

  /** How it ended. Undefined while it runs, and when it cannot be known: a process that was not our child, on a kernel before 6.15. */
  readExit(): ProcessExit | undefined {
    return this.#collect() ?? this.#exitInfo() ?? this.#zombieStatus();
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#watch?.close();
    closeSync(this.#descriptor);
  }

  /** Our own children leave their status with us. */
  #collect(): ProcessExit | undefined {
    const status = Buffer.alloc(4);
    try {
      const pid = systemCall("waitpid", [this.identity.pid, status, noHang], `process ${this.identity.pid}`);
      return pid === this.identity.pid ? decodeWaitStatus(status.readInt32LE(0)) : undefined;
    } catch (error) {
      if (hasCode(error, "ECHILD")) return undefined;
      throw error;
    }
  }

  /** The kernel gives the exit code to the holder of a descriptor, after another process has collected the exit. */
  #exitInfo(): ProcessExit | undefined {
    const info = Buffer.alloc(64);
    info.writeBigUInt64LE(exitInfoMask, 0);
    try {
      systemCall("ioctl", [this.#descriptor, pidfdGetInfo, info], `PIDFD_GET_INFO of process ${this.identity.pid}`);
    } catch (error) {
      if (hasCode(error, "ESRCH", "ENOTTY", "EINVAL")) return undefined;
      throw error;
    }
    return (info.readBigUInt64LE(0) & exitInfoMask) === 0n ? undefined : decodeWaitStatus(info.readInt32LE(60));
  }

  /** A stranger that its parent has not collected yet still stands in /proc. */
  #zombieStatus(): ProcessExit | undefined {
    const stat = readStat(this.identity.pid);
    if (stat === undefined || stat.startTime !== this.identity.startTime || stat.state !== "Z") return undefined;
    return decodeWaitStatus(stat.waitStatus);
  }
}

/** Signals a whole process group of ours; a group that is gone is a success. */
export function signalGroup(leader: number, signal: Signal): void {
  try {
    systemCall("kill", [-leader, constants.signals[signal]], `${signal} to process group ${leader}`);
  } catch (error) {
    if (!hasCode(error, "ESRCH")) throw error;
  }
}
