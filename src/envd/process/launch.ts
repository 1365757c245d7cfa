/** Starts a command as somebody, on pipes or on a terminal of its own. */
import type { ChildProcess } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { Socket } from "node:net";
import { getSystemErrorMessage } from "node:util";
import { ReadStream } from "node:tty";
import type { ArmedState } from "#envd/armed-state.ts";
import { ConnectError } from "#envd/connect/connect-error.ts";
import { ScriptTooLong, type Reply } from "#envd/steps/script.ts";
import { StepChild, type Ending } from "#envd/steps/step-child.ts";
import type { OutputName } from "#envd-protocol/process-messages.ts";
import { becomeCommand, onPipes, onTerminal, pipeEnds, pipeSteps, resizeStep, type Command, type TerminalSize } from "./launch-steps.ts";

export interface Launched {
  readonly pid: number;
  readonly process: ChildProcess;
  readonly ended: Promise<Ending>;
  readonly outputs: ReadonlyMap<OutputName, Output>;
  /** Where input goes; undefined when the command has none. */
  readonly input: Socket | undefined;
  /** Undefined: it has no terminal. */
  readonly resize: ((size: TerminalSize) => Promise<void>) | undefined;
}

export interface Output {
  readonly socket: Socket;
  /** Nothing more comes. */
  readonly closed: Promise<void>;
}

/** Listened for at once: a short command is over before anybody else looks. */
function outputOf(socket: Socket): Output {
  const closed = new Promise<void>((resolve) => {
    // The last side of a terminal that closes is told as an error.
    socket.on("error", () => resolve());
    socket.on("close", () => resolve());
  });
  return { socket, closed };
}

export interface LaunchOptions {
  readonly runner: string;
  readonly state: Pick<ArmedState, "isRetired">;
  readonly command: Command;
  readonly hasInput: boolean;
  readonly terminal?: TerminalSize;
}

/** Throws ConnectError. */
export async function launch(options: LaunchOptions): Promise<Launched> {
  // Asked in the same moment as the process is made: what is made before the end is ended with everything else, and nothing is made after it.
  if (options.state.isRetired) throw new ConnectError("unavailable", "this sandbox has ended");
  try {
    return await (options.terminal === undefined ? launchOnPipes(options) : launchOnTerminal(options, options.terminal));
  } catch (error) {
    if (error instanceof ScriptTooLong) throw new ConnectError("invalid_argument", error.message);
    throw error;
  }
}

async function launchOnPipes({ runner, command, hasInput }: LaunchOptions): Promise<Launched> {
  const child = new StepChild({ runner });
  const pid = startedPid(child);
  const sockets: Socket[] = [];
  try {
    const made = await child.run(pipeSteps);
    if (made === undefined || made.failed !== undefined) throw failure(command, made, undefined);
    // The other ends of the runner's pipes: opened by name, because a descriptor cannot be sent to Node.
    const open = (descriptor: number, flags: number): Socket => {
      const fd = openSync(`/proc/${pid}/fd/${descriptor}`, flags | constants.O_NONBLOCK);
      const socket = new Socket({ fd, readable: flags === constants.O_RDONLY, writable: flags === constants.O_WRONLY });
      sockets.push(socket);
      return socket;
    };
    const stdout = outputOf(open(pipeEnds.stdout.read, constants.O_RDONLY));
    const stderr = outputOf(open(pipeEnds.stderr.read, constants.O_RDONLY));
    const input = hasInput ? open(pipeEnds.stdin.write, constants.O_WRONLY) : undefined;
    await become(child, command, onPipes(hasInput, command.account));
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

async function launchOnTerminal({ runner, command }: LaunchOptions, size: TerminalSize): Promise<Launched> {
  const master = openMaster();
  let child: StepChild | undefined;
  try {
    child = new StepChild({ runner, descriptors: [master] });
    const pid = startedPid(child);
    await become(child, command, onTerminal(size, command.account));
    const terminal = new ReadStream(master);
    const resize = (to: TerminalSize): Promise<void> => resizeTerminal(runner, master, to);
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

async function resizeTerminal(runner: string, master: number, size: TerminalSize): Promise<void> {
  const child = new StepChild({ runner, descriptors: [master] });
  startedPid(child);
  try {
    await child.run([resizeStep(4, size)]);
  } finally {
    child.letGo();
  }
}

function startedPid(child: StepChild): number {
  const { pid } = child.process;
  // The reason is told by an event; without a listener it would end the daemon.
  child.process.on("error", () => {});
  if (pid === undefined) throw new ConnectError("resource_exhausted", "no more processes can be started in this sandbox");
  return pid;
}

async function become(child: StepChild, command: Command, first: Parameters<typeof becomeCommand>[2]): Promise<void> {
  const { steps, cwdStep } = becomeCommand(command, process.getuid?.() ?? 0, first);
  const reply = await child.run(steps);
  // No reply: the runner is the command now.
  if (reply !== undefined) throw failure(command, reply, cwdStep);
}

function failure({ cmd, cwd, account }: Command, reply: Reply | undefined, cwdStep: number | undefined): ConnectError {
  const { step, errno } = reply?.failed ?? { step: -1, errno: 0 };
  const reason = errno === 0 ? "its runner ended" : getSystemErrorMessage(-errno);
  if (step === cwdStep) return new ConnectError("invalid_argument", `cwd '${cwd}' cannot be entered by ${account.name}: ${reason}`);
  return new ConnectError("invalid_argument", `the command '${cmd}' cannot be started: ${reason}`);
}
