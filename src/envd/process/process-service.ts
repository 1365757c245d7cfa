/**
 * Commands in the sandbox (process.proto).
 * - `environment.ts`, `launch.ts`: start a command, - `running-process.ts`, `output-fan.ts`, `exit-status.ts`: its life, - `process-table.ts`: all
 * commands, - `process-stream.ts`: what one client receives.
 */
import type { Clock } from "#lib/clock.ts";
import { accountOf, basicUser, UnknownUser } from "#envd/accounts/caller.ts";
import type { Account, Accounts } from "#envd/accounts/accounts.ts";
import type { ArmedState } from "#envd/armed-state.ts";
import { ConnectError } from "#envd/connect/connect-error.ts";
import type { Call, Handlers } from "#envd/connect/rpc-server.ts";
import type { ServerStream } from "#envd/connect/server-stream.ts";
import { resolvePath } from "#envd/accounts/resolve-path.ts";
import type {
  OfProcess,
  ProcessConfig,
  ProcessInfo,
  Pty,
  SendInputRequest,
  SendSignalRequest,
  StartRequest,
  StreamInputRequest,
  UpdateRequest,
} from "#envd-protocol/process-messages.ts";
import { terminalHeaders } from "#envd-protocol/process-messages.ts";
import { commandEnvironment, sandboxVariables } from "./environment.ts";
import { type Command, launch, type TerminalSize } from "./launch.ts";
import { followProcess } from "./process-stream.ts";
import { ProcessTable } from "./process-table.ts";
import { RunningProcess } from "./running-process.ts";

export interface ProcessDeps {
  readonly state: ArmedState;
  readonly accounts: Accounts;
  readonly clock: Clock;
  /** Where the helper is. */
  readonly helper: string;
}

export class ProcessService {
  readonly #deps: ProcessDeps;
  readonly #table: ProcessTable;

  constructor(deps: ProcessDeps) {
    this.#deps = deps;
    this.#table = new ProcessTable(deps.clock);
  }

  readonly handlers: Handlers = {
    unary: {
      "process.Process/List": async (_: object, { headers }) => {
        const isWanted = (process: RunningProcess): boolean => headers[terminalHeaders.only] === undefined || process.hasTerminal;
        return { processes: this.#table.running.filter(isWanted).map(infoOf) };
      },
      "process.Process/Update": (request: UpdateRequest) => this.#update(request),
      "process.Process/SendInput": async ({ process, input }: SendInputRequest) => {
        await this.#table.findRunning(process).write(input ?? {});
        return {};
      },
      "process.Process/SendSignal": async (request: SendSignalRequest) => this.#signal(request),
      "process.Process/CloseStdin": async ({ process }: OfProcess) => {
        this.#table.findRunning(process).closeStdin();
        return {};
      },
    },
    streamOut: {
      "process.Process/Start": (request: StartRequest, call, stream) => this.#start(request, call, stream),
      "process.Process/Connect": (request: OfProcess, call, stream) => this.#connect(request, call, stream),
    },
    streamIn: { "process.Process/StreamInput": (requests: AsyncIterable<StreamInputRequest>) => this.#streamInput(requests) },
  };

  async #start(request: StartRequest, call: Call, stream: ServerStream): Promise<void> {
    const { clock, helper, state } = this.#deps;
    const config = request.process ?? {};
    const size = terminalSize(request.pty);
    const command = this.#command(config, call, size !== undefined);
    const options = { helper, state, command, hasInput: request.stdin ?? true, ...(size === undefined ? {} : { terminal: size }) };
    const process = new RunningProcess(await launch(options), { config, tag: request.tag }, clock);
    this.#table.add(process);
    // A command is killed at its deadline even if its client has disconnected.
    const { deadline, timer } = this.#deadline(call, () => process.signal("SIGKILL"));
    void process.ended.then(() => timer?.cancel());
    await followProcess({ process, call, stream, clock, deadline });
  }

  async #connect(request: OfProcess, call: Call, stream: ServerStream): Promise<void> {
    const process = this.#table.find(request.process);
    const { deadline, timer } = this.#deadline(call, () => {});
    try {
      const replay = call.headers[terminalHeaders.replay] !== undefined;
      await followProcess({ process, call, stream, clock: this.#deps.clock, deadline, replay });
    } finally {
      timer?.cancel();
    }
  }

  #deadline({ timeoutMs }: Call, onEnd: () => void) {
    const controller = new AbortController();
    if (timeoutMs === undefined || timeoutMs === 0) return { deadline: controller.signal, timer: undefined };
    const timer = this.#deps.clock.after(Math.min(timeoutMs, 2 ** 31 - 1), () => {
      controller.abort(new ConnectError("deadline_exceeded", `the command did not end within ${timeoutMs / 1000} s`));
      onEnd();
    });
    return { deadline: controller.signal, timer };
  }

  #command(config: ProcessConfig, call: Call, hasTerminal: boolean): Command {
    const { state, accounts } = this.#deps;
    const { cmd = "", args = [], envs = {} } = config;
    if (cmd === "") throw new ConnectError("invalid_argument", "process.cmd must name a program");
    const account = callerOf(this.#deps, call);
    const sandbox = sandboxVariables(state.sandboxId ?? "", state.init.envVars);
    const own = hasTerminal ? { TERM: "xterm-256color", ...process.env } : process.env;
    const env = commandEnvironment({ own, account, sandbox, call: envs });
    const needsCwd = config.cwd !== undefined && config.cwd !== "";
    const cwd = resolvePath(config.cwd ?? "", account, state.init.defaultWorkdir);
    for (const text of [cmd, cwd, ...args, ...Object.entries(env).flat()]) {
      if (text.includes("\0")) throw new ConnectError("invalid_argument", "commands, arguments and variables cannot contain a zero byte");
    }
    return { cmd, args, env, account, groups: accounts.groupsOf(account), cwd, needsCwd };
  }

  async #update({ process, pty }: UpdateRequest): Promise<object> {
    const found = this.#table.findRunning(process);
    const size = terminalSize(pty);
    if (size !== undefined) await found.resize(size);
    return {};
  }

  #signal({ process, signal }: SendSignalRequest): object {
    const found = this.#table.findRunning(process);
    if (signal !== "SIGNAL_SIGKILL" && signal !== "SIGNAL_SIGTERM") {
      throw new ConnectError("unimplemented", "the signal must be SIGNAL_SIGKILL or SIGNAL_SIGTERM");
    }
    found.signal(signal === "SIGNAL_SIGKILL" ? "SIGKILL" : "SIGTERM");
    return {};
  }

  async #streamInput(requests: AsyncIterable<StreamInputRequest>): Promise<object> {
    let process: RunningProcess | undefined;
    for await (const { start, data } of requests) {
      if (start !== undefined) process = this.#table.findRunning(start.process);
      if (data === undefined) continue;
      if (process === undefined) throw new ConnectError("unimplemented", "the first message must name the process");
      await process.write(data.input ?? {});
    }
    return {};
  }
}

/** Throws ConnectError. */
export function callerOf({ accounts, state }: Pick<ProcessDeps, "accounts" | "state">, { headers }: Pick<Call, "headers">): Account {
  try {
    return accountOf(accounts, state.init, basicUser(headers));
  } catch (error) {
    if (error instanceof UnknownUser) throw new ConnectError("unauthenticated", error.message);
    throw error;
  }
}

function terminalSize(pty: Pty | undefined): TerminalSize | undefined {
  if (pty === undefined) return undefined;
  return { cols: sixteenBits(pty.size?.cols), rows: sixteenBits(pty.size?.rows) };
}

function sixteenBits(value = 0): number {
  return Math.min(value, 65_535);
}

function infoOf({ config, pid, tag }: RunningProcess): ProcessInfo {
  return { config, pid, ...(tag === undefined ? {} : { tag }) };
}
