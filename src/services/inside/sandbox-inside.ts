/**
 * The use cases inside a running sandbox: commands, files and code, done by its daemon as E2B's SDKs have them done. Each throws ServiceError.
 *
 * - `daemon-door.ts`   the daemon of a caller's sandbox, and one request to it
 * - `run-process.ts`   commands             - `connect-frames.ts`  the messages of a stream
 * - `sandbox-files.ts` contents and folders - `run-code.ts`        the code interpreter
 */
import type { Caller } from "../caller.ts";
import { type DoorDeps, openDoor } from "./daemon-door.ts";
import { type CodeResult, runCode, type RunCode } from "./run-code.ts";
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
  runCode(caller: Caller, sandboxId: string, code: RunCode, signal: AbortSignal): Promise<CodeResult>;
}

export function openSandboxInside(deps: DoorDeps): SandboxInside {
  const door = (caller: Caller, sandboxId: string, wish: string, signal: AbortSignal) =>
    openDoor(deps, { caller, sandboxId, wish }, signal);
  return {
    run: async (caller, sandboxId, command, signal) => {
      using daemon = await door(caller, sandboxId, "running a command in it", signal);
      return await runProcess(daemon, command, signal);
    },
    start: async (caller, sandboxId, command, signal) => {
      using daemon = await door(caller, sandboxId, "starting a command in it", signal);
      return await startProcess(daemon, command, signal);
    },
    readFile: async (caller, sandboxId, wanted, signal) => {
      using daemon = await door(caller, sandboxId, "reading a file of it", signal);
      return await readFile(daemon, wanted, signal);
    },
    writeFile: async (caller, sandboxId, wanted, signal) => {
      using daemon = await door(caller, sandboxId, "writing a file of it", signal);
      await writeFile(daemon, wanted, signal);
    },
    listFolder: async (caller, sandboxId, wanted, signal) => {
      using daemon = await door(caller, sandboxId, "listing a folder of it", signal);
      return await listFolder(daemon, wanted, signal);
    },
    removeEntry: async (caller, sandboxId, entry, signal) => {
      using daemon = await door(caller, sandboxId, "removing a file of it", signal);
      await removeEntry(daemon, entry, signal);
    },
    makeFolder: async (caller, sandboxId, folder, signal) => {
      using daemon = await door(caller, sandboxId, "making a folder in it", signal);
      await makeFolder(daemon, folder, signal);
    },
    moveEntry: async (caller, sandboxId, move, signal) => {
      using daemon = await door(caller, sandboxId, "moving a file of it", signal);
      await moveEntry(daemon, move, signal);
    },
    runCode: async (caller, sandboxId, code, signal) => {
      using daemon = await door(caller, sandboxId, "running code in it", signal);
      return await runCode(daemon, code, signal);
    },
  };
}
