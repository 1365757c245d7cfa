/** Starts a command as a user, on pipes or in a terminal: sends the request with which a helper process becomes the command (`command.c`). */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { Socket } from "node:net";
import { getSystemErrorMessage } from "node:util";
import { ReadStream } from "node:tty";
import type { Account } from "#envd/accounts/accounts.ts";
import type { ArmedState } from "#envd/armed-state.ts";
import { ConnectError } from "#envd/connect/connect-error.ts";
import { HelperChild, type Ending } from "#envd/helper/helper-child.ts";
import { FrameFields, frameOf, FrameTooLong } from "#envd/helper/helper-frames.ts";
import type { OutputName } from "#envd-protocol/process-messages.ts";

export interface Command {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly account: Account;
  readonly groups: readonly number[];
  readonly cwd: string;
  /** The caller chose the folder, so a missing folder is an error. */
  readonly needsCwd: boolean;
}

export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

export interface Launched {
  readonly pid: number;
  readonly process: ChildProcess;
  readonly ended: Promise<Ending>;
  readonly outputs: ReadonlyMap<OutputName, Output>;
  /** The standard input; undefined if the command has none. */
  readonly input: Socket | undefined;
  /** Undefined without a terminal. */
  readonly resize: ((size: TerminalSize) => Promise<void>) | undefined;
}

export interface Output {
  readonly socket: Socket;
  /** Called when there is no more output. */
  readonly closed: Promise<void>;
}

/** Adds its listeners at once: a short command may end before the next turn of the event loop. */
function outputOf(socket: Socket): Output {
  const closed = new Promise<void>((resolve) => {
    // When the last side of a terminal closes, reading fails with an error.
    socket.on("error", () => resolve());
    socket.on("close", () => resolve());
  });
  return { socket, closed };
}

export interface LaunchOptions {
  readonly helper: string;
  readonly state: Pick<ArmedState, "isRetired">;
  readonly command: Command;
  readonly hasInput: boolean;
  readonly terminal?: TerminalSize;
}

/** Throws ConnectError. */
export async function launch(options: LaunchOptions): Promise<Launched> {
  // Checked in the same turn in which the process is created: processes created earlier are killed with the rest, and none is created later.
  if (options.state.isRetired) throw new ConnectError("unavailable", "this sandbox has ended");
  try {
    return await (options.terminal === undefined ? launchOnPipes(options) : launchOnTerminal(options, options.terminal));
  } catch (error) {
    if (error instanceof FrameTooLong) throw new ConnectError("invalid_argument", `arguments and environment: ${error.message}`);
    throw error;
  }
}

async function launchOnPipes({ helper, command, hasInput }: LaunchOptions): Promise<Launched> {
  const child = new HelperChild({ helper, verb: "command" });
  const pid = startedPid(child);
  const sockets: Socket[] = [];
  try {
    const made = saidIn(await child.ask(orderFor(command, { hasInput })));
    if (made?.subject !== subject.pipesMade) throw failure(command, made);
    // The other ends of the helper's pipes: opened by name, because Node cannot receive a descriptor.
    const open = (descriptor: number, flags: number): Socket => {
      const fd = openSync(`/proc/${pid}/fd/${descriptor}`, flags | constants.O_NONBLOCK);
      const socket = new Socket({ fd, readable: flags === constants.O_RDONLY, writable: flags === constants.O_WRONLY });
      sockets.push(socket);
      return socket;
    };
    const stdout = outputOf(open(made.stdout, constants.O_RDONLY));
    const stderr = outputOf(open(made.stderr, constants.O_RDONLY));
    const input = hasInput ? open(made.stdin, constants.O_WRONLY) : undefined;
    becameCommand(command, await child.ask(frameOf([])));
    return {
      pid,
      process: child.process,
      ended: child.ended,
      outputs: new Map([
        ["stdout", stdout],
        ["stderr", stderr],
      ]),
      input,
      resize: undefined,
    };
  } catch (error) {
    for (const socket of sockets) socket.destroy();
    child.letGo();
    throw error;
  }
}

async function launchOnTerminal({ helper, command }: LaunchOptions, size: TerminalSize): Promise<Launched> {
  const master = openMaster();
  let child: HelperChild | undefined;
  try {
    child = new HelperChild({ helper, verb: "command", descriptors: [master] });
    const pid = startedPid(child);
    becameCommand(command, await child.ask(orderFor(command, { hasInput: true, terminal: size })));
    const terminal = new ReadStream(master);
    const resize = (to: TerminalSize): Promise<void> => resizeTerminal(helper, master, to);
    return { pid, process: child.process, ended: child.ended, outputs: new Map([["pty", outputOf(terminal)]]), input: terminal, resize };
  } catch (error) {
    closeSync(master);
    child?.letGo();
    throw error;
  }
}

function openMaster(): number {
  try {
    return openSync("/dev/ptmx", constants.O_RDWR | constants.O_NOCTTY);
  } catch (error) {
    throw new ConnectError("internal", `no terminal can be opened: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function resizeTerminal(helper: string, master: number, { rows, cols }: TerminalSize): Promise<void> {
  const child = spawn(helper, ["resize", String(rows), String(cols)], { stdio: [master, "ignore", "ignore"], env: {} });
  const code = await new Promise((resolve) => child.once("exit", resolve).once("error", ({ message }) => resolve(message)));
  if (code !== 0) throw new ConnectError("internal", `the terminal cannot be resized: its helper ended with ${String(code)}`);
}

function startedPid(child: HelperChild): number {
  const { pid } = child.process;
  // The reason comes as an event; without a listener it would end the daemon.
  child.process.on("error", () => {});
  if (pid === undefined) throw new ConnectError("resource_exhausted", "no more processes can be started in this sandbox");
  return pid;
}

/** Numbers of command.c for the subject of an answer. */
const subject = { pipesMade: 0, notStarted: 1, folderNotEntered: 2 } as const;
const flag = { hasInput: 1, onTerminal: 2, needsFolder: 4 } as const;

interface Said {
  readonly subject: number;
  readonly errno: number;
  /** The helper's descriptors for the daemon's ends of its pipes. */
  readonly stdin: number;
  readonly stdout: number;
  readonly stderr: number;
}

/** In the form that `take_order` of command.c reads. */
function orderFor(command: Command, on: { readonly hasInput: boolean; readonly terminal?: TerminalSize }): Buffer {
  const { cmd, args, env, account, groups, cwd, needsCwd } = command;
  const { rows, cols } = on.terminal ?? { rows: 0, cols: 0 };
  const flags = (on.hasInput ? flag.hasInput : 0) | (on.terminal === undefined ? 0 : flag.onTerminal) | (needsCwd ? flag.needsFolder : 0);
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const counts = [groups.length, 1 + args.length, variables.length];
  return frameOf([flags, account.uid, account.gid, rows, cols, ...counts, ...groups, cwd, cmd, ...args, ...variables]);
}

function saidIn(answer: Buffer | undefined): Said | undefined {
  if (answer === undefined) return undefined;
  const fields = new FrameFields(answer);
  const next = (): number => fields.number();
  return { subject: next(), errno: next(), stdin: next(), stdout: next(), stderr: next() };
}

/** No answer: the helper has become the command. Throws ConnectError. */
function becameCommand(command: Command, answer: Buffer | undefined): void {
  if (answer !== undefined) throw failure(command, saidIn(answer));
}

function failure({ cmd, cwd, account }: Command, said: Said | undefined): ConnectError {
  const reason = said === undefined ? "its helper ended" : getSystemErrorMessage(-said.errno);
  if (said?.subject === subject.folderNotEntered) {
    return new ConnectError("invalid_argument", `cwd '${cwd}' cannot be entered by ${account.name}: ${reason}`);
  }
  return new ConnectError("invalid_argument", `the command '${cmd}' cannot be started: ${reason}`);
}
