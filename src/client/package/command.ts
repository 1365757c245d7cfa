import type { Readable } from "node:stream";
import type { RunCommand } from "../generated/api-types.generated.ts";

export interface CommandOptions extends Omit<RunCommand, "command" | "stdin" | "stdinEncoding"> {
  readonly stdin?: string | Uint8Array | Readable;
  /** What it gets is not in the result. */
  readonly onStdout?: (piece: Uint8Array) => void;
  readonly onStderr?: (piece: Uint8Array) => void;
  /** Ends the command. */
  readonly signal?: AbortSignal;
}

export interface CommandResult {
  /** As in a shell: 128 plus the signal's number if a signal ended it, 126 or 127 if it could not be started. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Why it could not be started. */
  readonly startError?: string;
}
