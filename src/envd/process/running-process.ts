import type { Clock } from "#lib/clock.ts";
import { ConnectError } from "#envd/connect/connect-error.ts";
import type { EndEvent, ProcessConfig, ProcessInput } from "#envd-protocol/process-messages.ts";
import type { Launched } from "./launch.ts";
import type { TerminalSize } from "./launch.ts";
import { OutputFan, type OutputListener } from "./output-fan.ts";
import { RecentOutput } from "./recent-output.ts";

/** How long to wait for the output of a killed process: a child may keep it open for ever. */
const lastWordsMs = 100;

export interface ProcessListener extends OutputListener {
  end(event: EndEvent): void;
}

/** A command from its start to its end: it has exited and its output is closed. */
export class RunningProcess {
  readonly config: ProcessConfig;
  readonly tag: string | undefined;
  readonly ended: Promise<EndEvent>;
  readonly #launched: Launched;
  readonly #fan: OutputFan;
  readonly #listeners = new Set<ProcessListener>();
  readonly #recent = new RecentOutput();
  readonly #clock: Clock;
  readonly #patience = Promise.withResolvers<void>();
  #isKilled = false;
  #hasExited = false;
  #isInputClosed = false;
  #end: EndEvent | undefined;

  constructor(launched: Launched, about: { readonly config: ProcessConfig; readonly tag: string | undefined }, clock: Clock) {
    this.#launched = launched;
    this.#clock = clock;
    this.config = about.config;
    this.tag = about.tag;
    this.#fan = new OutputFan([...launched.outputs.values()].map(({ socket }) => socket));
    // A caller that writes to an ended process gets an error from us; the socket's own error is not needed.
    launched.input?.on("error", () => {});
    this.ended = this.#live();
  }

  get pid(): number {
    return this.#launched.pid;
  }

  get end(): EndEvent | undefined {
    return this.#end;
  }

  get hasTerminal(): boolean {
    return this.#launched.resize !== undefined;
  }

  /** What a terminal wrote last, for a client that comes back to it. Nothing for other processes. */
  get recentOutput(): Buffer {
    return this.#recent.bytes;
  }

  listen(listener: ProcessListener): void {
    this.#listeners.add(listener);
    this.#fan.add(listener);
  }

  leave(listener: ProcessListener): void {
    this.#listeners.delete(listener);
    this.#fan.remove(listener);
  }

  caughtUp(): void {
    this.#fan.flow();
  }

  signal(name: "SIGKILL" | "SIGTERM"): void {
    this.#isKilled = true;
    this.#launched.process.kill(name);
    if (this.#hasExited) this.#waitForLastWords();
  }

  #waitForLastWords(): void {
    this.#clock.after(lastWordsMs, () => this.#patience.resolve());
  }

  async resize(size: TerminalSize): Promise<void> {
    if (this.#launched.resize === undefined) throw new ConnectError("internal", `process ${this.pid} has no terminal`);
    await this.#launched.resize(size);
  }

  async write(input: ProcessInput): Promise<void> {
    const { input: socket, resize } = this.#launched;
    if (input.pty === undefined && input.stdin === undefined)
      throw new ConnectError("unimplemented", "the input must be for stdin or for pty");
    if (input.pty !== undefined && resize === undefined) throw new ConnectError("internal", `process ${this.pid} has no terminal`);
    if (input.stdin !== undefined && (resize !== undefined || socket === undefined || this.#isInputClosed)) {
      throw new ConnectError("internal", `process ${this.pid} has no open stdin`);
    }
    const bytes = Buffer.from(input.pty ?? input.stdin ?? "", "base64");
    await new Promise<void>((resolve, reject) => {
      socket?.write(bytes, (error) => {
        if (error) reject(new ConnectError("internal", `process ${this.pid} takes no input: ${error.message}`));
        else resolve();
      });
    });
  }

  closeStdin(): void {
    if (this.hasTerminal) throw new ConnectError("unknown", "the input of a terminal cannot be closed; send 0x04 (Ctrl-D) instead");
    this.#isInputClosed = true;
    this.#launched.input?.end();
  }

  async #live(): Promise<EndEvent> {
    const { ended, outputs } = this.#launched;
    for (const [name, { socket }] of outputs) {
      socket.on("data", (chunk: Buffer) => {
        if (name === "pty") this.#recent.add(chunk);
        this.#fan.data(name, chunk);
      });
    }
    const { code, signal } = await ended;
    const end = endEvent(code, signal);
    this.#hasExited = true;
    if (this.#isKilled) this.#waitForLastWords();
    await Promise.race([Promise.all([...outputs.values()].map(({ closed }) => closed)), this.#patience.promise]);
    for (const { socket } of outputs.values()) socket.destroy();
    this.#launched.input?.destroy();
    this.#end = end;
    for (const listener of this.#listeners) listener.end(end);
    this.#listeners.clear();
    return end;
  }
}

/** Names of signals in the answers, as clients know them. */
const signalTexts: Readonly<Record<string, string>> = {
  SIGHUP: "hangup",
  SIGINT: "interrupt",
  SIGQUIT: "quit",
  SIGILL: "illegal instruction",
  SIGTRAP: "trace/breakpoint trap",
  SIGABRT: "aborted",
  SIGBUS: "bus error",
  SIGFPE: "floating point exception",
  SIGKILL: "killed",
  SIGUSR1: "user defined signal 1",
  SIGSEGV: "segmentation fault",
  SIGUSR2: "user defined signal 2",
  SIGPIPE: "broken pipe",
  SIGALRM: "alarm clock",
  SIGTERM: "terminated",
  SIGSTKFLT: "stack fault",
  SIGXCPU: "CPU time limit exceeded",
  SIGXFSZ: "file size limit exceeded",
  SIGVTALRM: "virtual timer expired",
  SIGPROF: "profiling timer expired",
  SIGIO: "I/O possible",
  SIGPWR: "power failure",
  SIGSYS: "bad system call",
};

/** Describes an end by exit code or signal. */
function endEvent(code: number | null, signal: string | null): EndEvent {
  if (signal !== null) {
    const status = `signal: ${signalTexts[signal] ?? signal}`;
    return { exitCode: -1, exited: false, status, error: status };
  }
  const status = `exit status ${code ?? 0}`;
  return { exitCode: code ?? 0, exited: true, status, ...(code === 0 ? {} : { error: status }) };
}
