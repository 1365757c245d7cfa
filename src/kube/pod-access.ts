/**
 * The port to what runs in a pod: what it wrote, and to run something in it. The embedded engine's node agent answers it directly, a
 * Kubernetes API server through its kubelets.
 */
import type { Readable, Writable } from "node:stream";
import type { ExecSignal } from "#model/exec-signals.ts";
import type { ObjectKey } from "./object-client.ts";

export interface PodAccess {
  /** Throws PodAccessError when it is read from. */
  readLogs(request: ReadLogs): AsyncIterable<Buffer>;
  /** Throws PodAccessError. */
  exec(request: ExecInPod): Promise<ExecSession>;
}

export interface ReadLogs {
  readonly pod: ObjectKey;
  /** The first one when left out. */
  readonly container?: string;
  /** Only so many lines from the end. */
  readonly tail?: number;
  /** Only what was written in the last so many milliseconds, to the second or so. */
  readonly sinceMs?: number;
  /** What the attempt before the present one wrote. After a recycling that was another tenant's: never for a user of the pod. */
  readonly previous?: boolean;
  /** Set to go on until the container ends or the signal does. */
  readonly follow?: AbortSignal;
  /** Ends the reading of what is there already, when the caller is gone. */
  readonly signal?: AbortSignal;
}

export interface ExecInPod {
  readonly pod: ObjectKey;
  /** The first one when left out. */
  readonly container?: string;
  readonly command: ExecCommand;
}

export interface ExecCommand {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: string;
  readonly workingDir?: string;
  readonly tty?: { readonly rows: number; readonly cols: number };
  readonly signal?: AbortSignal;
}

/** Bytes pass unchanged, at the pace of the slower side: what is not read keeps the command from writing. */
export interface ExecSession {
  readonly stdin: Writable;
  /** Destroying an output before its end tells the command that nothing reads it: it gets SIGPIPE or EPIPE, as from a broken pipe. */
  readonly stdout: Readable;
  /** Empty when there is a tty. */
  readonly stderr: Readable;
  resize(rows: number, cols: number): void;
  /** To the command and the rest of its process group; ignored once it has ended. */
  signal(name: ExecSignal): void;
  /** 128 and the signal's number when a signal ended it. Rejects with CommandNotStarted when it could not be run. */
  readonly exitCode: Promise<number>;
}

/**
 * not-found: there is no such program. not-executable: there is, and it cannot be run. user, workingDir: the command names one that the
 * container does not have. too-long: arguments and environment are more than the kernel takes. other: see the message.
 */
export type StartFault = "not-found" | "not-executable" | "user" | "workingDir" | "too-long" | "other";

/** The container runs, and the command cannot be run in it. The message is for the caller: it names nothing of the machine. */
export class CommandNotStarted extends Error {
  override readonly name = "CommandNotStarted";
  readonly fault: StartFault;

  constructor(fault: StartFault, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.fault = fault;
  }
}

/** What was asked of a pod that is not there, or not in a state for it. */
export class PodAccessError extends Error {
  override readonly name = "PodAccessError";
  readonly code: "not_found" | "not_running";

  constructor(code: PodAccessError["code"], message: string) {
    super(message);
    this.code = code;
  }
}
