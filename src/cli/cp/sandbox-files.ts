/** Files in a sandbox, accessed with `sh` and `tar` from its image. */
import { PassThrough, Readable, Writable } from "node:stream";
import type { ExecEnd } from "#client/exec-stream.ts";
import type { SandboxesClient } from "#client/sandboxes.ts";
import { CliError } from "../failure.ts";
import type { PathKind } from "./copy-places.ts";

export interface SandboxFiles {
  readonly sandboxes: SandboxesClient;
  readonly id: string;
  readonly user: string | undefined;
  readonly signal: AbortSignal;
}

const lookScript = `if [ -d "$1" ]; then echo folder; elif [ -e "$1" ]; then echo file; elif [ -d "$(dirname "$1")" ]; then echo new; else echo none; fi`;

export async function pathKind({ sandboxes, id, user, signal }: SandboxFiles, path: string): Promise<PathKind> {
  const command = ["sh", "-c", lookScript, "sh", path];
  const { stdout, stderr, exitCode, startError } = await sandboxes.exec(id, { command, ...(user !== undefined && { user }) }, signal);
  if (exitCode !== 0) throw new CliError(`sandbox ${id} cannot read ${path}: ${startError ?? stderr.trim()}`);
  return stdout.trim() as PathKind;
}

/** Runs a program with this input. `output` yields its output; `ended` rejects with the program's stderr if it fails. */
export interface SandboxProgram {
  readonly output: PassThrough;
  readonly ended: Promise<void>;
}

export async function runProgram(
  files: SandboxFiles,
  command: readonly string[],
  input?: AsyncIterable<Uint8Array>,
): Promise<SandboxProgram> {
  const { sandboxes, id, user, signal } = files;
  const output = new PassThrough({ highWaterMark: 1024 * 1024 });
  const said: Buffer[] = [];
  const stderr = new Writable({
    write: (chunk: Buffer, _, done) => {
      if (said.length < 100) said.push(chunk);
      done();
    },
  });
  const stdin = input === undefined ? undefined : Readable.from(input, { highWaterMark: 2 });
  const running = await sandboxes.execStream(
    id,
    { command, ...(user !== undefined && { user }) },
    { stdin, stdout: output, stderr, signal },
  );
  const ended = running.ended
    .then((end) => checkEnd(end, command[0] ?? "", id, Buffer.concat(said).toString()))
    .then(
      () => void output.end(),
      (error: Error) => {
        output.destroy(error);
        throw error;
      },
    );
  ended.catch(() => {});
  return { output, ended };
}

function checkEnd({ exitCode, startError }: ExecEnd, program: string, id: string, said: string): void {
  if (exitCode === 127) throw new CliError(`the image of sandbox ${id} has no program ${program}, which cp needs`);
  if (exitCode !== 0) throw new CliError(`${program} in sandbox ${id} failed: ${startError ?? (said.trim() || `exit code ${exitCode}`)}`);
}
