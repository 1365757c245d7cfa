/**
 * Runs a program in this container as a given user, in a folder, with more variables, by becoming that program. For callers that can start a process in a
 * container but pass only a command line, such as Kubernetes' exec. It works in any image, because everything it needs is beside it.
 *
 *   node launch.cjs '{"argv":["ls","-l"],"user":"user","workingDir":"/"}'
 *   node launch.cjs '{"ask":true}'                                          the same is read from standard input
 *   node launch.cjs '{"signal":{"pid":12,"startTime":"3456","name":"SIGINT"}}'
 *
 * Before the program writes anything, the launcher's first output identifies the process (for signals) or says why it could not be started, between two
 * bytes that no program begins with: \x1e{"pid":12,"startTime":"3456"}\x1e. A launcher that reads its request from standard input first says
 * \x1e{"ready":true}\x1e. Command lines are short and visible to other processes, so environments are not passed there.
 *
 * - `find-program.ts` the file, - `find-user.ts` the user, - `read-request.ts` a request from standard input
 */
import { readFileSync, writeFileSync, writeSync } from "node:fs";
import { Accounts } from "#envd/accounts/accounts.ts";
import { findProgram, refuseTooLong, refuseUnreadable } from "./find-program.ts";
import { findUser } from "./find-user.ts";
import { type Fault, LaunchFault } from "./launch-fault.ts";
import { readRequest } from "./read-request.ts";

interface Program {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: string;
  readonly workingDir?: string;
}

interface Running {
  readonly pid: number;
  /** From the kernel: two processes with the same pid have different start times. */
  readonly startTime: string;
}

type Request = Program | { readonly ask: true } | { readonly signal: Running & { readonly name: NodeJS.Signals } };

const request = JSON.parse(process.argv[2] ?? "{}") as Request;
try {
  if ("signal" in request) signal(request.signal);
  else run("ask" in request ? askFor() : request);
} catch (error) {
  const { message } = error as Error;
  say({ failed: message, fault: faultOf(error) });
  process.exit(error instanceof LaunchFault && error.fault === "not-found" ? 127 : 126);
}

function askFor(): Program {
  say({ ready: true });
  return JSON.parse(readRequest(0)) as Program;
}

function run({ argv, env = {}, user, workingDir }: Program): never {
  diesFirst();
  const account = user === undefined ? undefined : step("user", () => findUser(user, new Accounts()));
  const variables: Record<string, string> = { ...ownVariables(), ...(account === undefined ? {} : { HOME: account.home }), ...env };
  if (account !== undefined) step("user", () => become(account));
  if (workingDir !== undefined) step("workingDir", () => enter(workingDir));
  const [name = "", ...args] = argv;
  const file = findProgram(name, variables["PATH"]);
  if (process.execve === undefined) throw new Error("this Node cannot become another program");
  refuseUnreadable(file);
  refuseTooLong([name, ...args], variables);
  // Node ignores these signals, and an ignored signal stays ignored in the program; a handled one is reset.
  for (const ignored of ["SIGPIPE", "SIGXFSZ"] as const) process.on(ignored, () => {});
  say(running(process.pid));
  return process.execve(file, [name, ...args], variables);
}

/** Turns any failure inside into this fault. */
function step<Result>(fault: Fault, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw new LaunchFault(fault, error instanceof Error ? error.message : String(error));
  }
}

function faultOf(error: unknown): Fault | "other" {
  return error instanceof LaunchFault ? error.fault : "other";
}

function enter(folder: string): void {
  try {
    process.chdir(folder);
  } catch (error) {
    throw new Error(`the folder ${JSON.stringify(folder)} is not in the container, or cannot be entered`, { cause: error });
  }
}

/** Short of memory, the kernel kills the process with the highest score first: that must not be the daemon (see helper/command.c). */
function diesFirst(): void {
  try {
    writeFileSync("/proc/self/oom_score_adj", "900");
  } catch {
    // A container may forbid it; the command runs anyway.
  }
}

function become({ uid, gid, groups }: { readonly uid: number; readonly gid: number; readonly groups: readonly number[] }): void {
  if (process.getuid?.() === uid && process.getgid?.() === gid) return;
  // In this order: after giving up root, the process may change neither.
  process.setgroups?.([...groups]);
  process.setgid?.(gid);
  process.setuid?.(uid);
}

/** Signals the process group: all programs that it started, unless they left the group. */
function signal({ pid, startTime, name }: Running & { readonly name: NodeJS.Signals }): void {
  if (running(pid).startTime === startTime) process.kill(-pid, name);
}

/** The name of a program, in brackets before the other fields, may contain anything. */
function running(pid: number): Running {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
  return { pid, startTime: fields[19] ?? "" };
}

function ownVariables(): Record<string, string> {
  return Object.fromEntries(Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

function say(what: Running | { readonly ready: true } | { readonly failed: string; readonly fault: string }): void {
  writeSync(1, `\x1e${JSON.stringify(what)}\x1e`);
}
