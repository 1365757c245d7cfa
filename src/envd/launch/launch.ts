/**
 * Runs a program in this container as somebody, somewhere, with more variables, and then is that program: for those who can start
 * something in a container and can say nothing but its command line, as Kubernetes' exec. It works in any image, because all that it
 * needs is beside it.
 *
 *   node launch.cjs '{"argv":["ls","-l"],"user":"user","workingDir":"/"}'
 *   node launch.cjs '{"ask":true}'                                          the same is read from standard input
 *   node launch.cjs '{"signal":{"pid":12,"startTime":"3456","name":"SIGINT"}}'
 *
 * Before the program writes anything, its first output says who it is (so that it can be signalled), or why it could not be started,
 * between two bytes that no program begins with: \x1e{"pid":12,"startTime":"3456"}\x1e. A launcher that asks says \x1e{"ready":true}\x1e
 * before: command lines are short, and others read them, so environments do not go there.
 *
 * - `find-program.ts` where it is, - `find-user.ts` who that is, - `read-request.ts` what it is asked on standard input
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
  /** As the kernel counts it: two processes of one number have different ones. */
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
  const who = user === undefined ? undefined : step("user", () => findUser(user, new Accounts()));
  const variables: Record<string, string> = { ...ownVariables(), ...(who === undefined ? {} : { HOME: who.home }), ...env };
  if (who !== undefined) step("user", () => become(who));
  if (workingDir !== undefined) step("workingDir", () => enter(workingDir));
  const [name = "", ...args] = argv;
  const file = findProgram(name, variables["PATH"]);
  if (process.execve === undefined) throw new Error("this Node cannot become another program");
  refuseUnreadable(file);
  refuseTooLong([name, ...args], variables);
  // Node ignores these, and what is ignored stays so in the program; what is handled is as usual there.
  for (const ignored of ["SIGPIPE", "SIGXFSZ"] as const) process.on(ignored, () => {});
  say(running(process.pid));
  return process.execve(file, [name, ...args], variables);
}

/** What fails in it is this fault. */
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

/** Short of memory, the kernel takes the largest of those with the highest score: never the daemon first (process/launch-steps.ts). */
function diesFirst(): void {
  try {
    writeFileSync("/proc/self/oom_score_adj", "900");
  } catch {
    // A container may forbid it; the command runs all the same.
  }
}

function become({ uid, gid, groups }: { readonly uid: number; readonly gid: number; readonly groups: readonly number[] }): void {
  if (process.getuid?.() === uid && process.getgid?.() === gid) return;
  // In this order: whoever is not root any more may change neither.
  process.setgroups?.([...groups]);
  process.setgid?.(gid);
  process.setuid?.(uid);
}

/** To everything of its process group: what it started, unless that took care not to be part of it. */
function signal({ pid, startTime, name }: Running & { readonly name: NodeJS.Signals }): void {
  if (running(pid).startTime === startTime) process.kill(-pid, name);
}

/** The name of a program, in brackets before the other fields, may hold anything. */
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
