/**
 * Runs a command in a sandbox to its end, with what it wrote, within bounds of time and size. For callers that want one answer; what has no
 * bounds is a stream (`SandboxService.exec`).
 */
import { abortable, ChildAbort } from "#lib/abortable.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { formatDuration } from "#model/duration.ts";
import type { Caller } from "#services/caller.ts";
import { shellExit } from "./not-started.ts";
import type { ExecRequest, SandboxService } from "#services/sandbox-service.ts";
import { isServiceError, ServiceError } from "#services/service-error.ts";
import { asServiceError } from "#services/service-failure.ts";

export interface RunDeps {
  readonly sandboxes: Pick<SandboxService, "exec">;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface RunCommand extends Omit<ExecRequest, "tty" | "signal"> {
  readonly sandboxId: string;
  readonly stdin?: string | Buffer;
  /** 30 seconds when left out. */
  readonly timeoutMs?: number;
}

export interface CommandResult {
  /** As a shell has it: 128 and the signal when a signal ended it, 126 and 127 when it could not be started. */
  readonly exitCode: number;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Why it could not be started. */
  readonly startError?: string;
}

/** The beginning of what a command wrote. */
export interface Output {
  readonly bytes: Buffer;
  /** How many it wrote; more than `bytes` has when the rest was dropped. */
  readonly written: number;
}

const usualTimeoutMs = 30_000;
const longestMs = 5 * 60_000;
/** Bytes, of each of its two outputs. */
const mostOutput = 1024 * 1024;
const noOutput: Output = { bytes: Buffer.alloc(0), written: 0 };

export async function runCommand(deps: RunDeps, caller: Caller, command: RunCommand, signal: AbortSignal): Promise<CommandResult> {
  const { sandboxId, stdin = "", timeoutMs = usualTimeoutMs, ...program } = command;
  if (!(timeoutMs >= 1 && timeoutMs <= longestMs)) {
    throw new ServiceError("invalid_request", `timeout must be more than 0 and at most ${formatDuration(longestMs)}`, { field: "timeout" });
  }
  using abort = new ChildAbort(signal);
  const timer = deps.clock.after(timeoutMs, () => abort.abort(tooLong(timeoutMs)));
  try {
    const session = await abortable(deps.sandboxes.exec(caller, sandboxId, { ...program, signal: abort.signal }), abort.signal);
    const [stdout, stderr] = [new Collected(session.stdout), new Collected(session.stderr)];
    // One that does not read to the end is no failure of ours.
    session.stdin.on("error", () => {});
    session.stdin.end(stdin);
    const exitCode = await abortable(session.exitCode, abort.signal);
    await abortable(Promise.all([stdout.ended, stderr.ended]), abort.signal);
    return { exitCode, stdout: stdout.output(), stderr: stderr.output() };
  } catch (error) {
    if (signal.aborted) throw new ServiceError("canceled", "the client disconnected, and the command was ended", { cause: error });
    if (abort.signal.aborted) throw abort.signal.reason;
    return resultOf(deps.log, sandboxId, error);
  } finally {
    timer.cancel();
  }
}

function tooLong(timeoutMs: number): ServiceError {
  return new ServiceError("timeout", `the command did not end within ${formatDuration(timeoutMs)}, and was ended`);
}

/** What the runtime says names things of the machine, which are for the log. */
function resultOf(log: Logger, sandboxId: string, error: unknown): CommandResult {
  if (isServiceError(error)) throw error;
  const notStarted = shellExit(error);
  if (notStarted === undefined) {
    log.warn({ sandboxId, error }, "command was not started");
    const known = asServiceError(error);
    throw isServiceError(known)
      ? known
      : new ServiceError("unavailable", "the command could not be run; the server's log says why", { cause: error });
  }
  return { exitCode: notStarted.exitCode, stdout: noOutput, stderr: noOutput, startError: notStarted.reason };
}

/** Read to its end, so that the command does not wait for us; only the beginning is kept. */
class Collected {
  readonly ended: Promise<void>;
  readonly #kept: Buffer[] = [];
  #written = 0;

  constructor(stream: NodeJS.ReadableStream) {
    this.ended = new Promise((resolve) => {
      for (const event of ["end", "close", "error"]) stream.once(event, () => resolve());
    });
    stream.on("data", (chunk: Buffer) => this.#add(chunk));
  }

  output(): Output {
    return { bytes: Buffer.concat(this.#kept), written: this.#written };
  }

  #add(chunk: Buffer): void {
    const room = mostOutput - this.#written;
    if (room > 0) this.#kept.push(chunk.subarray(0, room));
    this.#written += chunk.length;
  }
}
