/**
 * Runs a program in this container as somebody, somewhere, with more variables, and then is that program: for those who can start
 * something in a container and can say nothing but its command line, as Kubernetes' exec. It works in any image, because all that it
 * needs is beside it.
 *
 *   node launch.cjs '{"argv":["ls","-l"],"user":"user","workingDir":"/","env":{"A":"1"}}'
 *   node launch.cjs '{"end":{"pid":12,"startTime":"3456"}}'
 *
 * Before the program writes anything, its first output says who it is (so that it can be ended), or why it could not be started,
 * between two bytes that no program begins with: \x1e{"pid":12,"startTime":"3456"}\x1e.
 *
 * - `find-program.ts` where it is, - `find-user.ts` who that is
 */
import { readFileSync, writeSync } from "node:fs";
import { Accounts } from "#envd/accounts/accounts.ts";
import { findProgram } from "./find-program.ts";
import { findUser } from "./find-user.ts";

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

type Request = Program | { readonly end: Running };

const request = JSON.parse(process.argv[2] ?? "{}") as Request;
try {
  if ("end" in request) end(request.end);
  else run(request);
} catch (error) {
  say({ failed: error instanceof Error ? error.message : String(error) });
  process.exit(126);
}

function run({ argv, env = {}, user, workingDir }: Program): never {
  const who = user === undefined ? undefined : findUser(user, new Accounts());
  const variables: Record<string, string> = { ...ownVariables(), ...(who === undefined ? {} : { HOME: who.home }), ...env };
  if (who !== undefined) become(who);
  if (workingDir !== undefined) process.chdir(workingDir);
  const [name = "", ...args] = argv;
  const file = findProgram(name, variables["PATH"]);
  if (process.execve === undefined) throw new Error("this Node cannot become another program");
  say(running(process.pid));
  return process.execve(file, [name, ...args], variables);
}

function become({ uid, gid, groups }: { readonly uid: number; readonly gid: number; readonly groups: readonly number[] }): void {
  if (process.getuid?.() === uid && process.getgid?.() === gid) return;
  // In this order: whoever is not root any more may change neither.
  process.setgroups?.([...groups]);
  process.setgid?.(gid);
  process.setuid?.(uid);
}

/** Everything of its process group: what it started goes with it, unless it took care not to. */
function end({ pid, startTime }: Running): void {
  if (running(pid).startTime === startTime) process.kill(-pid, "SIGKILL");
}

/** The name of a program, in brackets before the other fields, may hold anything. */
function running(pid: number): Running {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
  return { pid, startTime: fields[19] ?? "" };
}

function ownVariables(): Record<string, string> {
  return Object.fromEntries(Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

function say(what: Running | { readonly failed: string }): void {
  writeSync(1, `\x1e${JSON.stringify(what)}\x1e`);
}
