/**
 * Commands started by small processes. Node starts a child by copying itself: the kernel duplicates the tables of all our
 * memory, and nothing else of ours runs meanwhile, for 5 ms with 170 MB and 12 ms with 370. A shell does it in a fraction
 * of a millisecond. So some shells are kept, each for one command at a time; they end when we do.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { abortable } from "#lib/abortable.ts";
import { systemClock } from "#lib/clock.ts";
import { killTree } from "./process-tree.ts";
import { identify } from "./processes.ts";

/** A bound on how many can be there at once. How much is done at once is decided above: by the places of the node and of the runtime. */
const mostShells = 48;

type ShellProcess = ChildProcessByStdio<Writable, Readable, null>;

export class SmallShell {
  readonly #child: ShellProcess;
  readonly #lines: string[] = [];
  #rest = "";
  #waiting: { resolve: (line: string) => void; reject: (error: Error) => void } | undefined;
  #isGone = false;

  constructor() {
    // In a session of its own: Ctrl-C for us must not stop what it runs half way.
    const env = { PATH: process.env["PATH"] ?? "" };
    this.#child = spawn("/bin/sh", ["-s", shellName(process.pid)], { stdio: ["pipe", "pipe", "ignore"], detached: true, cwd: "/", env });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => this.#hear(text));
    this.#child.stdin.on("error", () => {});
    this.#child.on("error", (error) => this.#end(error));
    this.#child.on("exit", () => this.#end(new Error("the shell that starts commands has ended")));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  send(text: string): void {
    this.#child.stdin.write(text);
  }

  /** The next line that whatever runs in the shell says. */
  line(): Promise<string> {
    const line = this.#lines.shift();
    if (line !== undefined) return Promise.resolve(line);
    if (this.#isGone) return Promise.reject(new Error("the shell that starts commands has ended"));
    return new Promise((resolve, reject) => (this.#waiting = { resolve, reject }));
  }

  /** Whether it keeps this process alive. */
  keepAlive(on: boolean): void {
    const handles = [this.#child, this.#child.stdin as Socket, this.#child.stdout as Socket];
    for (const handle of handles) {
      if (on) handle.ref();
      else handle.unref();
    }
  }

  /** With the command that it runs, and whatever that has started. May be repeated. */
  kill(): void {
    const root = this.#isGone ? undefined : identify(this.#child.pid ?? 0);
    this.#isGone = true;
    if (root !== undefined) void killTree(root, { clock: systemClock, rootIsNodes: true });
  }

  #hear(text: string): void {
    const parts = (this.#rest + text).split("\n");
    this.#rest = parts.pop() ?? "";
    this.#lines.push(...parts);
    const waiting = this.#waiting;
    if (waiting === undefined || this.#lines.length === 0) return;
    this.#waiting = undefined;
    waiting.resolve(this.#lines.shift() ?? "");
  }

  #end(error: Error): void {
    this.#isGone = true;
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}

/** The shell's name contains the process that owns it: a shell that outlives this process still runs its last command. */
function shellName(owner: number): string {
  return `agentbox-${owner}`;
}

/** The process that a shell of ours works for, from the shell's command line; undefined for everything else. */
export function ownerOfShell(commandLine: readonly string[]): number | undefined {
  const owner = commandLine[1] === "-s" ? /^agentbox-(\d+)$/.exec(commandLine[2] ?? "")?.[1] : undefined;
  return owner === undefined ? undefined : Number(owner);
}

const idle: SmallShell[] = [];
const queue: ((shell: SmallShell) => void)[] = [];
let shells = 0;

/** Gives a shell for the time of `use`, which must leave nothing running in it and nothing unread. */
export async function withSmallShell<T>(use: (shell: SmallShell) => Promise<T>, signal?: AbortSignal): Promise<T> {
  const shell = await take(signal);
  shell.keepAlive(true);
  let isClean = false;
  try {
    const result = await use(shell);
    isClean = true;
    return result;
  } finally {
    shell.keepAlive(false);
    giveBack(shell, isClean);
  }
}

function take(signal: AbortSignal | undefined): Promise<SmallShell> {
  if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
  for (let shell = idle.pop(); shell !== undefined; shell = idle.pop()) {
    if (!shell.isGone) return Promise.resolve(shell);
    shells--;
  }
  if (shells >= mostShells) return waitForShell(signal);
  shells++;
  return Promise.resolve(new SmallShell());
}

function waitForShell(signal: AbortSignal | undefined): Promise<SmallShell> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      queue.splice(queue.indexOf(enter), 1);
      reject(signal?.reason as Error);
    };
    const enter = (shell: SmallShell): void => {
      signal?.removeEventListener("abort", leave);
      resolve(shell);
    };
    queue.push(enter);
    signal?.addEventListener("abort", leave, { once: true });
  });
}

function giveBack(shell: SmallShell, isClean: boolean): void {
  let next = shell;
  if (!isClean || shell.isGone) {
    // What it does is not known.
    shell.kill();
    shells--;
    if (queue.length === 0) return;
    shells++;
    next = new SmallShell();
  }
  const waiting = queue.shift();
  if (waiting === undefined) idle.push(next);
  else waiting(next);
}

export interface SmallCommand {
  readonly argv: readonly string[];
  /** File that stdout and stderr are appended to; nowhere without one. */
  readonly output?: string | undefined;
  /** Ends the wait for a shell, or the command with everything that it has started. */
  readonly signal?: AbortSignal | undefined;
}

/** Runs a command to its end and gives its exit code; 128 and more after a signal. */
export function runSmall({ argv, output = "/dev/null", signal }: SmallCommand): Promise<number> {
  return withSmallShell(async (shell) => {
    shell.send(`${argv.map(quoted).join(" ")} </dev/null >>${quoted(output)} 2>&1\necho $?\n`);
    return Number(await abortable(shell.line(), signal));
  }, signal);
}

export function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
