/** Runs a command in a sandbox to its end, with what it wrote, within bounds of time and size. */
import { abortable, ChildAbort } from "#lib/abortable.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { formatDuration } from "#model/duration.ts";
import type { Caller } from "./caller.ts";
import type { ExecRequest, SandboxService } from "./sandbox-service.ts";
import { isServiceError, ServiceError } from "./service-error.ts";

export interface RunDeps {
  readonly sandboxes: Pick<SandboxService, "exec">;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface RunCommand extends Omit<ExecRequest, "tty" | "signal"> {
  readonly sandboxId: string;
  readonly stdin?: string;
  /** 30 seconds when left out. */
  readonly timeoutMs?: number;
}

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** True when it wrote more than is kept. */
  readonly truncated: boolean;
}

const usualTimeoutMs = 30_000;
const longestMs = 5 * 60_000;
/** Bytes, of each of its two outputs. */
const mostOutput = 1024 * 1024;

export async function runCommand(deps: RunDeps, caller: Caller, command: RunCommand, signal: AbortSignal): Promise<CommandResult> {
  const { sandboxId, stdin = "", timeoutMs = usualTimeoutMs, ...program } = command;
  if (!(timeoutMs >= 1 && timeoutMs <= longestMs)) {
    throw new ServiceError("invalid_request", `timeout must be more than 0 and at most ${formatDuration(longestMs)}`, { field: "timeout" });
  }
  using abort = new ChildAbort(signal);
  const timer = deps.clock.after(timeoutMs, () => abort.abort(tooLong(timeoutMs)));
  try {
    const session = await abortable(deps.sandboxes.exec(caller, sandboxId, { ...program, signal: abort.signal }), abort.signal);
    const [stdout, stderr] = [new Output(session.stdout), new Output(session.stderr)];
    // One that does not read to the end is no failure of ours.
    session.stdin.on("error", () => {});
    session.stdin.end(stdin);
    const exitCode = await abortable(session.exitCode, abort.signal);
    await abortable(Promise.all([stdout.ended, stderr.ended]), abort.signal);
    return { exitCode, stdout: stdout.text(), stderr: stderr.text(), truncated: stdout.truncated || stderr.truncated };
  } catch (error) {
    if (signal.aborted) throw new ServiceError("canceled", "the caller went away, and the command was ended", { cause: error });
    if (abort.signal.aborted) throw abort.signal.reason;
    if (isServiceError(error)) throw error;
    throw notStarted(deps.log, sandboxId, error);
  } finally {
    timer.cancel();
  }
}

function tooLong(timeoutMs: number): ServiceError {
  return new ServiceError("timeout", `the command did not end within ${formatDuration(timeoutMs)}, and was ended`);
}

/** What the runtime says names things of the machine, which are for the log. */
function notStarted(log: Logger, sandboxId: string, error: unknown): ServiceError {
  log.warn({ sandboxId, error }, "command was not started");
  const message = "command could not be run: there is no such program in the container, or the user, folder or environment is not right";
  return new ServiceError("invalid_request", message, { field: "command", cause: error });
}

/** Read to its end, so that the command does not wait for us; only the beginning is kept. */
class Output {
  readonly ended: Promise<void>;
  truncated = false;
  readonly #kept: Buffer[] = [];
  #size = 0;

  constructor(stream: NodeJS.ReadableStream) {
    this.ended = new Promise((resolve) => {
      for (const event of ["end", "close", "error"]) stream.once(event, () => resolve());
    });
    stream.on("data", (chunk: Buffer) => this.#add(chunk));
  }

  /** Without the character that the end was cut in. */
  text(): string {
    return new TextDecoder().decode(Buffer.concat(this.#kept), { stream: this.truncated });
  }

  #add(chunk: Buffer): void {
    const piece = chunk.subarray(0, mostOutput - this.#size);
    this.truncated ||= piece.length < chunk.length;
    if (piece.length === 0) return;
    this.#kept.push(piece);
    this.#size += piece.length;
  }
}
