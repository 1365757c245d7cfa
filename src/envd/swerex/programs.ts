/** Programs outside of sessions: those that `/execute` runs, and the bash that checks the syntax of commands. */
import { statSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import type { Clock } from "#lib/clock.ts";
import type { Account } from "#envd/accounts/accounts.ts";
import type { ArmedState } from "#envd/armed-state.ts";
import type { Ending } from "#envd/helper/helper-child.ts";
import { type Command, launch, type Launched, type Output, type TerminalSize } from "#envd/process/launch.ts";
import { python } from "./bash-session.ts";
import { PythonError, systemError } from "./python-error.ts";
import type { ExecuteCommand } from "./requests.ts";

export interface ProgramDeps {
  readonly state: ArmedState;
  readonly clock: Clock;
  /** Where the helper is. */
  readonly helper: string;
  readonly account: () => Account;
  readonly groupsOf: (account: Account) => readonly number[];
  /** Variables of the sandbox's commands. */
  readonly env: (account: Account) => Readonly<Record<string, string>>;
}

export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  /** Negative: the number of the signal that ended it, as in Python. */
  readonly exitCode: number;
}

/** The bound for both outputs together. */
const mostOutput = 64 * 1024 * 1024;
const lastWordsMs = 100;
const size: TerminalSize = { cols: 80, rows: 24 };

/** A shell in a terminal that shows nothing of what is typed. */
export function startShell(deps: ProgramDeps, prompt: Readonly<Record<string, string>>): Promise<Launched> {
  const command = commandOf(deps, ["/bin/sh", "-c", "stty -echo; exec /usr/bin/env bash"], { env: { TERM: "dumb", ...prompt } });
  return launch({ helper: deps.helper, state: deps.state, command, hasInput: true, terminal: size });
}

/** Throws PythonError if bash cannot read the command. */
export async function checkSyntax(deps: ProgramDeps, command: string): Promise<void> {
  const ran = await run(deps, commandOf(deps, ["/usr/bin/env", "bash", "-n"], {}), { input: `${command}\n`, timeoutMs: undefined });
  if (ran.exitCode === 0) return;
  const message = `Error (exit code ${ran.exitCode}) while checking bash command \n${python(command)}\n---- Stderr ----\n${ran.stderr}\n---- Stdout ----\n${ran.stdout}`;
  throw new PythonError("badSyntax", message, { bash_stdout: ran.stdout, bash_stderr: ran.stderr });
}

export async function execute(deps: ProgramDeps, wanted: ExecuteCommand): Promise<Ran> {
  const { command, timeoutMs, isShell, isChecked, errorMessage, env, cwd, isMerged } = wanted;
  const words = typeof command === "string" ? [command] : command;
  const argv = isShell ? ["/bin/sh", "-c", ...words] : words;
  // One pipe for both keeps their order.
  const merged = isMerged
    ? ["/bin/sh", "-c", 'exec "$0" "$@" 2>&1', found(deps, argv, wanted), ...argv.slice(1)]
    : [found(deps, argv, wanted), ...argv.slice(1)];
  const ran = await run(deps, commandOf(deps, merged, { onlyEnv: env, cwd }), { timeoutMs });
  if (isChecked && ran.exitCode !== 0) {
    const shown = typeof command === "string" ? python(command) : `[${command.map(python).join(", ")}]`;
    const message = `Command ${shown} failed with exit code ${ran.exitCode}. Stdout:\n${python(ran.stdout)}\nStderr:\n${python(ran.stderr)}`;
    throw new PythonError("nonZeroExit", errorMessage === "" ? message : `${errorMessage}: ${message}`);
  }
  return ran;
}

/** The program's path. Throws as Python does for one that is not there. */
function found(deps: ProgramDeps, [program = ""]: readonly string[], { env, cwd }: ExecuteCommand): string {
  if (cwd !== undefined) requireFolder(cwd);
  const account = deps.account();
  const folder = cwd ?? account.home;
  const paths = program.includes("/") ? [resolve(folder, program)] : searched(program, (env ?? deps.env(account))["PATH"]);
  const there = paths
    .map((path) => ({ path, facts: statSync(path, { throwIfNoEntry: false }) }))
    .filter(({ facts }) => facts !== undefined);
  const usable = there.find(({ facts }) => facts?.isFile() === true && (facts.mode & 0o111) !== 0);
  if (usable !== undefined) return usable.path;
  throw systemError(there.length === 0 ? "ENOENT" : "EACCES", program);
}

function searched(program: string, searchPath = ""): readonly string[] {
  return program === "" ? [] : searchPath.split(delimiter).map((folder) => join(folder, program));
}

function requireFolder(path: string): void {
  const facts = statSync(path, { throwIfNoEntry: false });
  if (facts === undefined) throw systemError("ENOENT", path);
  if (!facts.isDirectory()) throw systemError("ENOTDIR", path);
}

interface Place {
  /** In addition to the sandbox's variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** Instead of them. */
  readonly onlyEnv?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
}

function commandOf(deps: ProgramDeps, [cmd = "", ...args]: readonly string[], { env, onlyEnv, cwd }: Place): Command {
  const account = deps.account();
  const all = onlyEnv ?? { ...deps.env(account), ...env };
  return { cmd, args, env: all, account, groups: deps.groupsOf(account), cwd: cwd ?? account.home, needsCwd: cwd !== undefined };
}

interface Running {
  readonly input?: string;
  readonly timeoutMs: number | undefined;
}

/** Throws PythonError when its time is over; then all that it has started in its group is killed. */
async function run({ helper, state, clock }: ProgramDeps, command: Command, { input = "", timeoutMs }: Running): Promise<Ran> {
  const launched = await launch({ helper, state, command, hasInput: true });
  launched.input?.on("error", () => {});
  launched.input?.end(input);
  const stopped = Promise.withResolvers<void>();
  let failure: PythonError | undefined;
  const kill = (error: PythonError): void => {
    failure ??= error;
    killGroup(launched);
    // A child in another process group may keep the outputs open for ever.
    clock.after(lastWordsMs, () => stopped.resolve());
  };
  const tooMuch = (): void => kill(new PythonError("memory", `the command printed more than ${mostOutput} bytes`));
  const [stdout, stderr] = [collected(launched.outputs.get("stdout"), tooMuch), collected(launched.outputs.get("stderr"), tooMuch)];
  const timer = timeoutMs === undefined ? undefined : clock.after(Math.min(timeoutMs, 2 ** 31 - 1), () => kill(late(timeoutMs)));
  // As in Python, a command is over when its outputs are closed.
  const over = Promise.all([launched.ended, ...[...launched.outputs.values()].map(({ closed }) => closed)]);
  await Promise.race([over, stopped.promise]);
  timer?.cancel();
  for (const { socket } of launched.outputs.values()) socket.destroy();
  if (failure !== undefined) throw failure;
  return { stdout: stdout(), stderr: stderr(), exitCode: exitCodeOf(await launched.ended) };
}

function late(ms: number): PythonError {
  return new PythonError("commandTimeout", `Timeout (${ms / 1000}s) exceeded while running command`);
}

function killGroup({ pid, process: child }: Launched): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL");
  }
}

/** The output so far, as a text. */
function collected(output: Output | undefined, onTooMuch: () => void): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  output?.socket.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > mostOutput) onTooMuch();
    else chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString("utf8");
}

function exitCodeOf({ code, signal }: Ending): number {
  return signal === null ? (code ?? 0) : -process.getBuiltinModule("node:os").constants.signals[signal];
}
