/**
 * The port to what runs in a pod: what it wrote, and to run something in it. The embedded engine's node agent answers it directly, a
 * Kubernetes API server through its kubelets.
 */
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

export interface ExecSession {
  readonly stdin: NodeJS.WritableStream;
  readonly stdout: NodeJS.ReadableStream;
  /** Empty when there is a tty. */
  readonly stderr: NodeJS.ReadableStream;
  resize(rows: number, cols: number): void;
  readonly exitCode: Promise<number>;
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
