/**
 * The use cases inside a running sandbox: commands, files and code, done by its daemon as E2B's SDKs have them done. Each throws ServiceError.
 *
 * - `daemon-door.ts`   the daemon of a caller's sandbox, and one request to it
 * - `run-process.ts`   commands             - `connect-frames.ts`  the messages of a stream
 * - `sandbox-files.ts` contents and folders - `run-code.ts`        the code interpreter
 * - `kept-terminals.ts` terminals that go on without a connection
 * - `in-time.ts`       our own deadline
 */
import { abortable } from "#lib/abortable.ts";
import type { Clock } from "#lib/clock.ts";
import { formatDuration } from "#model/duration.ts";
import type { Caller } from "../caller.ts";
import { ServiceError } from "../service-error.ts";
import { type DaemonDoor, type DoorDeps, openDoor } from "./daemon-door.ts";
import { inTime } from "./in-time.ts";
import { type CodeResult, runCode, type RunCode } from "./run-code.ts";
import {
  endTerminal,
  type JoinedTerminal,
  type JoinTerminal,
  joinTerminal,
  type KeptTerminal,
  listTerminals,
  type StartTerminal,
  startTerminal,
} from "./kept-terminals.ts";
import { type CommandOutcome, runProcess, type RunProcess, startProcess, type StartProcess } from "./run-process.ts";
import {
  type EntryAt,
  type FileEntry,
  type FilePart,
  listFolder,
  type ListFolder,
  makeFolder,
  type MoveEntry,
  moveEntry,
  readFile,
  type ReadFile,
  removeEntry,
  writeFile,
  type WriteFile,
} from "./sandbox-files.ts";

export interface SandboxInside {
  /** Runs to its end, its time limit or the signal's. */
  run(caller: Caller, sandboxId: string, command: RunProcess, signal: AbortSignal): Promise<CommandOutcome>;
  /** Resolves with the process id; the command goes on without us. */
  start(caller: Caller, sandboxId: string, command: StartProcess, signal: AbortSignal): Promise<number>;
  readFile(caller: Caller, sandboxId: string, wanted: ReadFile, signal: AbortSignal): Promise<FilePart>;
  writeFile(caller: Caller, sandboxId: string, wanted: WriteFile, signal: AbortSignal): Promise<void>;
  listFolder(caller: Caller, sandboxId: string, wanted: ListFolder, signal: AbortSignal): Promise<readonly FileEntry[]>;
  removeEntry(caller: Caller, sandboxId: string, entry: EntryAt, signal: AbortSignal): Promise<void>;
  makeFolder(caller: Caller, sandboxId: string, folder: EntryAt, signal: AbortSignal): Promise<void>;
  moveEntry(caller: Caller, sandboxId: string, move: MoveEntry, signal: AbortSignal): Promise<void>;
  /** Resolves with the process id of a terminal that goes on without us. */
  startTerminal(caller: Caller, sandboxId: string, wanted: StartTerminal, signal: AbortSignal): Promise<number>;
  listTerminals(caller: Caller, sandboxId: string, wanted: object, signal: AbortSignal): Promise<readonly KeptTerminal[]>;
  endTerminal(caller: Caller, sandboxId: string, wanted: { readonly pid: number }, signal: AbortSignal): Promise<void>;
  /** Until the signal: the terminal goes on. */
  joinTerminal(caller: Caller, sandboxId: string, wanted: JoinTerminal, signal: AbortSignal): Promise<JoinedTerminal>;
  runCode(caller: Caller, sandboxId: string, code: RunCode, signal: AbortSignal): Promise<CodeResult>;
}

/** What the daemon may take beyond a command's own time limit, which it keeps itself. */
const commandGraceMs = 10_000;
/** One request about files or the start of a command: far above what the largest one takes. */
const longestRequestMs = 5 * 60_000;

export interface InsideDeps extends DoorDeps {
  readonly clock: Clock;
}

export function openSandboxInside(deps: InsideDeps): SandboxInside {
  /** Opens the door for the time of `use`, which ends when its time is over, whatever the daemon does. */
  const during = <Result>(wanted: During, use: (daemon: DaemonDoor, until: AbortSignal) => Promise<Result>): Promise<Result> => {
    const { caller, sandboxId, wish, signal, ms = longestRequestMs } = wanted;
    const late = (): ServiceError =>
      new ServiceError("timeout", `the daemon of sandbox ${sandboxId} did not end ${wish} within ${formatDuration(ms)}, and was left`);
    return inTime({ clock: deps.clock, ms, late, signal }, async (until) => {
      using daemon = await openDoor(deps, { caller, sandboxId, wish }, until);
      // Also a use that does not hear of its end is no use of the sandbox any more.
      return await abortable(use(daemon, until), until);
    });
  };
  const request =
    <Wanted, Result>(wish: string, use: (daemon: DaemonDoor, wanted: Wanted, until: AbortSignal) => Promise<Result>) =>
    (caller: Caller, sandboxId: string, wanted: Wanted, signal: AbortSignal): Promise<Result> =>
      during({ caller, sandboxId, wish, signal }, (daemon, until) => use(daemon, wanted, until));
  return {
    run: async (caller, sandboxId, command, signal) => {
      const ms = command.timeoutMs + commandGraceMs;
      try {
        const wish = "running a command in it";
        return await during({ caller, sandboxId, wish, signal, ms }, (daemon, until) => runProcess(daemon, command, until));
      } catch (error) {
        if (error instanceof ServiceError && error.code === "timeout") return { exitCode: -1, timedOut: true };
        throw error;
      }
    },
    start: request("starting a command in it", startProcess),
    readFile: request("reading a file of it", readFile),
    writeFile: request("writing a file of it", writeFile),
    listFolder: request("listing a folder of it", listFolder),
    removeEntry: request("removing a file of it", removeEntry),
    makeFolder: request("making a folder in it", makeFolder),
    moveEntry: request("moving a file of it", moveEntry),
    startTerminal: request("opening a terminal in it", startTerminal),
    listTerminals: request("listing its terminals", listTerminals),
    endTerminal: request("ending a terminal in it", endTerminal),
    joinTerminal: async (caller, sandboxId, wanted, signal) => {
      const daemon = await openDoor(deps, { caller, sandboxId, wish: "joining a terminal in it" }, signal);
      try {
        const joined = await joinTerminal(daemon, wanted, signal);
        // It counts as use of the sandbox while a client is connected.
        joined.exitCode.catch(() => {}).finally(() => daemon[Symbol.dispose]());
        return joined;
      } catch (error) {
        daemon[Symbol.dispose]();
        throw error;
      }
    },
    // How long code may take is the caller's to say: it ends with the signal.
    runCode: async (caller, sandboxId, code, signal) => {
      using daemon = await openDoor(deps, { caller, sandboxId, wish: "running code in it" }, signal);
      return await runCode(daemon, code, signal);
    },
  };
}

interface During {
  readonly caller: Caller;
  readonly sandboxId: string;
  readonly wish: string;
  readonly signal: AbortSignal;
  readonly ms?: number;
}
