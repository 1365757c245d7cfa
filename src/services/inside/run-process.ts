/** Commands in a sandbox, by its daemon's process service. */
import { ChildAbort } from "#lib/abortable.ts";
import { ServiceError } from "../service-error.ts";
import { connectFrame, connectMessages } from "./connect-frames.ts";
import { asUser, bodyOf, type DaemonDoor, refusalOf } from "./daemon-door.ts";

export interface StartProcess {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: string;
  readonly workingDir?: string;
}

export interface RunProcess extends StartProcess {
  readonly stdin?: string;
  readonly timeoutMs: number;
  /** Told each piece of output as it comes. */
  readonly onOutput: (stream: "stdout" | "stderr", bytes: Buffer) => void;
}

export interface CommandOutcome {
  /** As a shell has it; -1 when a signal ended it. */
  readonly exitCode: number;
  readonly timedOut: boolean;
  /** How a signal ended it. */
  readonly status?: string;
}

type ProcessEvent =
  | { readonly start: { readonly pid: number } }
  | { readonly data: { readonly stdout?: string; readonly stderr?: string } }
  | { readonly end: { readonly exitCode?: number; readonly exited?: boolean; readonly status?: string } }
  | { readonly keepalive: object };

export async function runProcess(door: DaemonDoor, command: RunProcess, signal: AbortSignal): Promise<CommandOutcome> {
  using running = new ChildAbort(signal);
  let pid: number | undefined;
  try {
    for await (const event of startEvents(door, command, running.signal, command.timeoutMs)) {
      if ("start" in event) {
        pid = event.start.pid;
        // Output is read meanwhile: a command may wait for that before it reads on. One that never gets its input must not wait for it.
        giveInput(door, pid, command.stdin, running.signal).catch((error: unknown) => running.abort(error as Error));
      } else if ("data" in event) tellOutput(command, event.data);
      else if ("end" in event) return outcomeOf(event.end);
    }
    throw new ServiceError("unavailable", "the sandbox's daemon did not say how the command ended");
  } catch (error) {
    if (error instanceof ServiceError && error.code === "timeout") return { exitCode: -1, timedOut: true };
    // The daemon lets a command go on when its client leaves.
    if (running.signal.aborted && pid !== undefined) await kill(door, pid);
    throw running.signal.aborted ? running.signal.reason : error;
  }
}

function tellOutput({ onOutput }: RunProcess, data: { readonly stdout?: string; readonly stderr?: string }): void {
  for (const stream of ["stdout", "stderr"] as const) {
    const text = data[stream];
    if (text !== undefined) onOutput(stream, Buffer.from(text, "base64"));
  }
}

function outcomeOf({ exitCode = 0, exited = false, status }: Extract<ProcessEvent, { readonly end: unknown }>["end"]): CommandOutcome {
  return { exitCode, timedOut: false, ...(!exited && status !== undefined && { status }) };
}

/** Nothing reads its output: a command that writes has to be given a file for it. */
export async function startProcess(door: DaemonDoor, command: StartProcess, signal: AbortSignal): Promise<number> {
  for await (const event of startEvents(door, command, signal)) if ("start" in event) return event.start.pid;
  throw new ServiceError("unavailable", "the sandbox's daemon did not start the command");
}

interface StartAnswer {
  readonly event?: ProcessEvent;
}

async function* startEvents(
  door: DaemonDoor,
  { argv: [cmd = "", ...args], env, user, workingDir }: StartProcess,
  signal: AbortSignal,
  timeoutMs?: number,
): AsyncGenerator<ProcessEvent, void> {
  const process = { cmd, args, ...(env && { envs: env }), ...(workingDir !== undefined && { cwd: workingDir }) };
  const headers = {
    "content-type": "application/connect+json",
    ...asUser(user),
    ...(timeoutMs !== undefined && { "connect-timeout-ms": String(timeoutMs) }),
  };
  const answer = await door.ask({ method: "POST", path: "/process.Process/Start", headers, body: connectFrame({ process }) }, signal);
  if (answer.status !== 200) throw await refusalOf(answer);
  for await (const { event } of connectMessages<StartAnswer>(answer.body)) if (event !== undefined) yield event;
}

/** What the command does not read to the end is no failure. */
async function giveInput(door: DaemonDoor, pid: number, stdin: string | undefined, signal: AbortSignal): Promise<void> {
  const process = { pid };
  if (stdin !== undefined && stdin !== "") {
    await call(door, "SendInput", { process, input: { stdin: Buffer.from(stdin).toString("base64") } }, signal);
  }
  await call(door, "CloseStdin", { process }, signal);
}

async function call(door: DaemonDoor, method: string, message: object, signal: AbortSignal): Promise<void> {
  const headers = { "content-type": "application/json" };
  const answer = await door.ask({ method: "POST", path: `/process.Process/${method}`, headers, body: JSON.stringify(message) }, signal);
  await bodyOf(answer, 64 * 1024);
}

async function kill(door: DaemonDoor, pid: number): Promise<void> {
  await call(door, "SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" }, AbortSignal.timeout(5000)).catch(() => {});
}
