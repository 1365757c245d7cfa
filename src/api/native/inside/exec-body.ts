/** The result of a command as JSON: text if it is valid UTF-8, else base64. Pure. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { CommandResult, Output } from "#services/inside/run-command.ts";
import type { ExecResultBody } from "#api/native/schemas/execution.ts";

export function execBody({ exitCode, stdout, stderr, startError }: CommandResult): ExecResultBody {
  const [out, err] = [textOf(stdout), textOf(stderr)];
  return {
    exitCode,
    stdout: out.text,
    stdoutEncoding: out.encoding,
    stdoutBytes: stdout.written,
    stderr: err.text,
    stderrEncoding: err.encoding,
    stderrBytes: stderr.written,
    truncated: isCut(stdout) || isCut(stderr),
    ...withoutUndefined({ startError }),
  };
}

function isCut({ bytes, written }: Output): boolean {
  return written > bytes.length;
}

function textOf(output: Output): { readonly text: string; readonly encoding: "utf-8" | "base64" } {
  try {
    // Without the character that the cut has split.
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return { text: decoder.decode(output.bytes, { stream: isCut(output) }), encoding: "utf-8" };
  } catch {
    return { text: output.bytes.toString("base64"), encoding: "base64" };
  }
}
