/**
 * Terminals that go on without a connection: they live in the sandbox's daemon, which names each by its process id. Those that E2B's SDKs open are the same,
 * so each can be joined from here, and those of here from an SDK.
 */
import { PassThrough, Writable } from "node:stream";
import { terminalHeaders } from "#envd-protocol/process-messages.ts";
import { ServiceError } from "../service-error.ts";
import { connectFrame, connectMessages } from "./connect-frames.ts";
import { asUser, bodyOf, type DaemonDoor, refusalOf } from "./daemon-door.ts";
import type { StartProcess } from "./run-process.ts";

export interface TerminalSize {
  readonly rows: number;
  readonly cols: number;
}

export interface StartTerminal extends StartProcess, TerminalSize {}

export interface KeptTerminal {
  readonly pid: number;
  readonly command: readonly string[];
}

/** A connection to a terminal, as those of other commands. */
export interface JoinedTerminal {
  readonly stdin: Writable;
  readonly stdout: PassThrough;
  readonly stderr: PassThrough;
  resize(rows: number, cols: number): void;
  readonly exitCode: Promise<number>;
}

const listLimit = 1024 * 1024;

/** Resolves with the process id; the terminal goes on without us. */
export async function startTerminal(door: DaemonDoor, { argv, rows, cols, ...rest }: StartTerminal, signal: AbortSignal): Promise<number> {
  const { env, user, workingDir } = rest;
  const [cmd = "", ...args] = argv;
  const process = { cmd, args, ...(env && { envs: env }), ...(workingDir !== undefined && { cwd: workingDir }) };
  const message = { process, pty: { size: { rows, cols } } };
  const headers = { "content-type": "application/connect+json", ...asUser(user) };
  const answer = await door.ask({ method: "POST", path: "/process.Process/Start", headers, body: connectFrame(message) }, signal);
  if (answer.status !== 200) throw await refusalOf(answer);
  for await (const { event } of connectMessages<Answer>(answer.body)) if (event?.start !== undefined) return event.start.pid;
  throw new ServiceError("unavailable", "the sandbox's daemon did not start the terminal");
}

export async function listTerminals(door: DaemonDoor, _: object, signal: AbortSignal): Promise<readonly KeptTerminal[]> {
  const headers = { "content-type": "application/json", [terminalHeaders.only]: "1" };
  const answer = await door.ask({ method: "POST", path: "/process.Process/List", headers, body: "{}" }, signal);
  if (answer.status !== 200) throw await refusalOf(answer);
  const { processes = [] } = JSON.parse((await bodyOf(answer, listLimit)).toString("utf8")) as Listed;
  return processes.map(({ pid, config: { cmd = "", args = [] } = {} }) => ({ pid, command: [cmd, ...args] }));
}

interface Listed {
  readonly processes?: readonly { readonly pid: number; readonly config?: { readonly cmd?: string; readonly args?: readonly string[] } }[];
}

/** Only a process with a terminal: others of the daemon are not for this. */
export async function endTerminal(door: DaemonDoor, { pid }: { readonly pid: number }, signal: AbortSignal): Promise<void> {
  await checkTerminal(door, pid, signal);
  await call(door, "SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" }, signal);
}

export interface JoinTerminal extends TerminalSize {
  readonly pid: number;
}

/** Begins with what it wrote last. Ends with the signal, and the terminal goes on. */
export async function joinTerminal(door: DaemonDoor, { pid, rows, cols }: JoinTerminal, signal: AbortSignal): Promise<JoinedTerminal> {
  await checkTerminal(door, pid, signal);
  const process = { pid };
  const resize = (to: TerminalSize): Promise<void> => call(door, "Update", { process, pty: { size: to } }, signal);
  await resize({ rows, cols });
  const headers = { "content-type": "application/connect+json", [terminalHeaders.replay]: "1" };
  const answer = await door.ask({ method: "POST", path: "/process.Process/Connect", headers, body: connectFrame({ process }) }, signal);
  if (answer.status !== 200) throw await refusalOf(answer);
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  stderr.end();
  const exitCode = passOn(connectMessages<Answer>(answer.body), stdout).finally(() => stdout.end());
  exitCode.catch(() => {});
  const type = (bytes: Buffer): Promise<void> => call(door, "SendInput", { process, input: { pty: bytes.toString("base64") } }, signal);
  return {
    stdin: typedInput(type),
    stdout,
    stderr,
    exitCode,
    resize: (newRows, newCols) => void resize({ rows: newRows, cols: newCols }).catch(() => {}),
  };
}

/** What is typed while one piece is on its way goes together, in order. */
function typedInput(type: (bytes: Buffer) => Promise<void>): Writable {
  const send = async (pieces: readonly { readonly chunk: unknown }[], done: (error?: Error) => void): Promise<void> => {
    const failure = await type(Buffer.concat(pieces.map(({ chunk }) => chunk as Buffer))).then(
      () => undefined,
      (error: unknown) => error as Error,
    );
    done(failure);
  };
  return new Writable({ writev: (pieces, done) => void send(pieces, done) });
}

interface Answer {
  readonly event?: {
    readonly start?: { readonly pid: number };
    readonly data?: { readonly pty?: string };
    readonly end?: { readonly exitCode?: number; readonly exited?: boolean; readonly status?: string };
  };
}

/** Resolves with the exit code as a shell has it. Reads on when the reader has taken what came before. */
async function passOn(messages: AsyncGenerator<Answer>, stdout: PassThrough): Promise<number> {
  for await (const { event } of messages) {
    const { data, end } = event ?? {};
    if (end !== undefined) return end.exited === true ? (end.exitCode ?? 0) : (signalCodes[end.status ?? ""] ?? 255);
    if (data?.pty === undefined || stdout.write(Buffer.from(data.pty, "base64"))) continue;
    await new Promise((resolve) => {
      stdout.once("drain", resolve);
      stdout.once("close", resolve);
    });
  }
  throw new ServiceError("unavailable", "the sandbox's daemon did not say how the terminal ended");
}

const signalCodes: Readonly<Record<string, number>> = {
  "signal: hangup": 129,
  "signal: interrupt": 130,
  "signal: killed": 137,
  "signal: terminated": 143,
};

async function checkTerminal(door: DaemonDoor, pid: number, signal: AbortSignal): Promise<void> {
  const terminals = await listTerminals(door, {}, signal);
  if (!terminals.some((terminal) => terminal.pid === pid)) throw new ServiceError("not_found", `the sandbox has no terminal ${pid}`);
}

async function call(door: DaemonDoor, method: string, message: object, signal: AbortSignal): Promise<void> {
  const headers = { "content-type": "application/json" };
  const answer = await door.ask({ method: "POST", path: `/process.Process/${method}`, headers, body: JSON.stringify(message) }, signal);
  if (answer.status !== 200) throw await refusalOf(answer);
  await bodyOf(answer, listLimit);
}
