import { Readable, Writable } from "node:stream";
import { ClientExec } from "../exec-stream.ts";
import type { HttpCaller } from "../http-caller.ts";
import type { CommandOptions, CommandResult } from "./command.ts";

/** Where a command runs, and what runs. A text is run by `sh`. */
export interface CommandPlace {
  readonly sandboxId: string;
  readonly command: string | readonly string[];
}

export async function runCommand(http: HttpCaller, { sandboxId, command }: CommandPlace, options: CommandOptions): Promise<CommandResult> {
  const { stdin, onStdout, onStderr, signal, ...wish } = options;
  const [stdout, stderr] = [collector(onStdout), collector(onStderr)];
  const words = typeof command === "string" ? ["sh", "-c", command] : command;
  const socket = await http.stream(`/v1/sandboxes/${encodeURIComponent(sandboxId)}/exec/stream`, signal);
  const input = stdin === undefined || stdin instanceof Readable ? stdin : Readable.from([Buffer.from(stdin)]);
  const exec = new ClientExec(socket, { ...wish, command: words }, { stdin: input, stdout: stdout.into, stderr: stderr.into, signal });
  const end = await exec.ended;
  return { ...end, stdout: stdout.text(), stderr: stderr.text() };
}

function collector(listener: ((piece: Uint8Array) => void) | undefined): { readonly into: Writable; readonly text: () => string } {
  const pieces: Uint8Array[] = [];
  const into = new Writable({
    write: (piece: Buffer, _, done) => {
      if (listener === undefined) pieces.push(piece);
      else if (piece.length > 0) listener(piece);
      done();
    },
  });
  return { into, text: () => Buffer.concat(pieces).toString() };
}
