/** A bash in a terminal of its own, which runs one request after the other. Its answers are those of the original server. */
import type { Clock } from "#lib/clock.ts";
import { sleep } from "#lib/clock.ts";
import type { Launched } from "#envd/process/launch.ts";
import { Expecter, type Found } from "./expecter.ts";
import { PythonError } from "./python-error.ts";
import type { BashAction, InterruptAction, Observation } from "./requests.ts";

export interface SessionDeps {
  readonly clock: Clock;
  /** Starts the shell in a terminal. */
  readonly start: () => Promise<Launched>;
  /** Throws PythonError if bash cannot read the command. */
  readonly checkSyntax: (command: string) => Promise<void>;
}

const prompt = "SHELLPS1PREFIX";
const mark = "UNIQUESTRING29234";
const [codeStart, codeEnd] = ["EXITCODESTART", "EXITCODEEND"];
const interrupt = "\x03";
const suspend = "\x1a";
/** How long a running shell may take to answer, on a busy machine. */
const answerMs = 2000;
const restMs = 300;
const startMs = 20_000;

export class BashSession {
  readonly #deps: SessionDeps;
  #shell: Launched | undefined;
  #output: Expecter | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #isRunning = false;
  /** Output that came after the answer to an interrupt: the shell shows it with the next command, so it belongs to that answer. */
  #carried = "";

  constructor(deps: SessionDeps) {
    this.#deps = deps;
  }

  /** The output at its start. */
  async start(sources: readonly string[], timeoutMs: number): Promise<string> {
    const shell = await this.#deps.start();
    this.#shell = shell;
    const [terminal] = shell.outputs.values();
    if (terminal === undefined) throw new Error("a shell without a terminal");
    const output = new Expecter(terminal.socket, this.#deps.clock);
    this.#output = output;
    // Jobs in the background may hold the terminal open when the shell has ended; its last output is read by then.
    void shell.ended.then(() => sleep(this.#deps.clock, restMs)).then(() => output.end());
    // The caller's time limit is for its own files; the start of the shell itself may take longer.
    await this.#settle([`export PS1='${prompt}'`, "export PS2=''", "export PS0=''"], Math.max(timeoutMs, startMs));
    if (sources.length === 0) return "";
    // The files may have set them.
    return this.#settle(
      [...sources.map((path) => `source ${path}`), `export PS1='${prompt}'`, "export PS2=''", "export PS0=''"],
      timeoutMs,
    );
  }

  /** Runs commands in the shell, whatever its prompt and echo are, and resolves with their output. */
  async #settle(commands: readonly string[], timeoutMs: number): Promise<string> {
    // In two parts, so that the shell's echo of the line is not taken for its answer.
    this.#send(`stty -echo 2>/dev/null; ${commands.join(" ; ")} ; echo ${mark.slice(0, 6)}''${mark.slice(6)}`);
    const begun = await this.#expect([`${mark}\r?\n`], timeoutMs);
    const ready = begun && (await this.#expect([prompt], timeoutMs));
    if (begun === undefined || ready === undefined) {
      await this.close();
      throw new PythonError("timeout", `Timeout exceeded: the shell did not start within ${timeoutMs / 1000} s`);
    }
    const said = plain(begun.before).replaceAll(prompt, "");
    const typed = said.lastIndexOf("stty -echo");
    return typed < 0 ? said : said.slice(said.indexOf("\n", typed) + 1 || said.length);
  }

  run(action: BashAction): Promise<Observation> {
    return this.#inTurn(async () => {
      this.#isRunning = true;
      try {
        return await (action.isInteractiveCommand || action.isInteractiveQuit ? this.#runInteractive(action) : this.#runChecked(action));
      } finally {
        this.#isRunning = false;
      }
    });
  }

  /** While a command runs, its request answers as well. */
  interrupt(action: InterruptAction): Promise<Observation> {
    if (!this.#isRunning) return this.#inTurn(() => this.#interrupt(action));
    this.#write(interrupt);
    return this.#inTurn(async () => ({ output: "", exitCode: 0, expectString: prompt }));
  }

  async close(): Promise<void> {
    const shell = this.#shell;
    this.#shell = undefined;
    if (shell === undefined) return;
    try {
      // All jobs of the terminal; its shell leads the session.
      process.kill(-shell.pid, "SIGHUP");
    } catch {
      // It has ended.
    }
    shell.process.kill("SIGKILL");
    for (const { socket } of shell.outputs.values()) socket.destroy();
    await shell.ended;
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const mine = this.#turn.then(act);
    this.#turn = mine.catch(() => undefined);
    return mine;
  }

  async #runChecked(action: BashAction): Promise<Observation> {
    const observation = await this.#runNormal(action);
    if (action.check !== "raise" || observation.exitCode === 0) return observation;
    const { command, errorMessage } = action;
    const message = `Command ${python(command)} failed with exit code ${observation.exitCode}. Here is the output:\n${python(observation.output)}`;
    throw new PythonError("nonZeroExit", errorMessage === "" ? message : `${errorMessage}: ${message}`);
  }

  async #runNormal(action: BashAction): Promise<Observation> {
    await this.#deps.checkSyntax(action.command);
    this.#send(isEmpty(action.command) ? "" : `eval ${quoted(action.command)}`);
    const expected = [...action.expect, prompt];
    const found = await this.#expect(expected, action.timeoutMs);
    if (found === undefined) throw timedOut(action);
    const output = this.#carried + plain(found.before);
    this.#carried = "";
    const expectString = expected[found.index] ?? "";
    if (action.check === "ignore") return { output, exitCode: undefined, expectString };
    try {
      const { exitCode, rest } = await this.#exitCode();
      return { output: (output + rest).replaceAll(mark, "").replaceAll(prompt, ""), exitCode, expectString };
    } catch (error) {
      if (action.check === "raise") throw error;
      return { output, exitCode: undefined, expectString };
    }
  }

  async #exitCode(): Promise<{ readonly exitCode: number; readonly rest: string }> {
    this.#send(`echo ${codeStart}$?${codeEnd}`);
    const found = await this.#expect([codeEnd], answerMs);
    if (found === undefined) throw new PythonError("noExitCode", "timeout while getting exit code");
    const said = plain(found.before);
    const codes = [...said.matchAll(new RegExp(`${codeStart}([0-9]+)`, "g"))].map(([, code]) => Number(code));
    const [exitCode] = codes;
    if (exitCode === undefined || codes.length > 1) {
      throw new PythonError("noExitCode", `failed to parse exit code from output ${python(said)}`);
    }
    if ((await this.#expect([prompt], answerMs)) === undefined) {
      throw new PythonError("commandTimeout", "Timeout while getting PS1 after exit code extraction");
    }
    return { exitCode, rest: said.split(codeStart)[0] ?? "" };
  }

  async #runInteractive(action: BashAction): Promise<Observation> {
    this.#send(action.command);
    const expected = [...action.expect, prompt];
    const found = await this.#expect(expected, action.timeoutMs);
    if (found === undefined) throw timedOut(action);
    const expectString = expected[found.index] ?? "";
    const output = plain(found.before);
    if (!action.isInteractiveQuit) return { output: withoutEcho(output, action.command), exitCode: 0, expectString };
    // The program may have changed settings of the terminal.
    this.#send(`stty -echo; echo ${mark.slice(0, 6)}''${mark.slice(6)}`);
    for (const pattern of [mark, prompt]) {
      if ((await this.#expect([pattern], answerMs)) === undefined) {
        throw new PythonError("timeout", "Timeout exceeded: the shell did not come back after the interactive program");
      }
    }
    return { output, exitCode: 0, expectString };
  }

  async #interrupt({ timeoutMs, tries, expect }: InterruptAction): Promise<Observation> {
    const expected = [...expect, prompt];
    const done = async (found: Found, isKilled = false): Promise<Observation> => {
      await sleep(this.#deps.clock, restMs);
      const rest = plain(this.#reader.take()).replaceAll(prompt, "");
      if (isKilled) this.#carried = rest;
      return { output: (plain(found.before) + (isKilled ? "" : rest)).trim(), exitCode: 0, expectString: expected[found.index] ?? "" };
    };
    for (let attempt = 0; attempt < tries; attempt++) {
      this.#write(interrupt);
      const found = await this.#expect(expected, timeoutMs);
      if (found !== undefined) return done(found);
    }
    // The program ignores the interrupt: stop it, and kill it as a job of the shell.
    this.#write(suspend);
    const stopped = await this.#expect(expected, timeoutMs);
    if (stopped !== undefined) {
      this.#send("kill -9 %1");
      const killed = await this.#expect(expected, Math.max(timeoutMs, answerMs));
      if (killed !== undefined) {
        const answer = await done(stopped, true);
        this.#carried = plain(killed.before) + this.#carried;
        return answer;
      }
    }
    throw new PythonError("timeout", "Failed to interrupt session");
  }

  get #reader(): Expecter {
    if (this.#output === undefined) throw new PythonError("noSession", "the session has not started");
    return this.#output;
  }

  #expect(patterns: readonly string[], timeoutMs: number | undefined): Promise<Found | undefined> {
    return this.#reader.expect(patterns, timeoutMs);
  }

  #send(line: string): void {
    this.#write(`${line}\n`);
  }

  #write(text: string): void {
    this.#shell?.input?.write(text);
  }
}

function timedOut({ command, timeoutMs = 0 }: BashAction): PythonError {
  return new PythonError("commandTimeout", `timeout after ${timeoutMs / 1000} seconds while running command ${python(command)}`);
}

/** Nothing to run: the shell only shows its prompt again, with the exit code as it was. */
function isEmpty(command: string): boolean {
  return command.split("\n").every((line) => /^\s*(#.*)?$/.test(line));
}

/** The command as one line for the terminal, where line breaks and tabs would act as keys. */
function quoted(command: string): string {
  const bytes = Buffer.from(command.trim(), "utf8");
  let text = "";
  for (const byte of bytes) {
    const character = String.fromCharCode(byte);
    text += /[A-Za-z0-9 _./:=,+@%^~(){}[\]<>|&;$"#*?`-]/.test(character) ? character : `\\x${byte.toString(16).padStart(2, "0")}`;
  }
  return `$'${text}'`;
}

/** Without colours, and with the line ends of files. */
function plain(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are what is taken out
  return text.replaceAll(/\x1B[@-_][0-?]*[ -/]*[@-~]/g, "").replaceAll("\r\n", "\n");
}

/** Programs that read single keys may turn the echo on, so their output can begin with the typed command. */
function withoutEcho(output: string, command: string): string {
  const text = output.trimStart();
  return (text.startsWith(command) ? text.slice(command.length) : text).trim();
}

/** As Python's `repr` shows a text. */
export function python(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\r", "\\r").replaceAll("\t", "\\t");
  return `${quote}${quote === "'" ? escaped.replaceAll("'", "\\'") : escaped}${quote}`;
}
