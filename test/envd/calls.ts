/** What a stream of a command said, put together. */
export interface Ran {
  readonly pid: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly pty: string;
  readonly end: { readonly exitCode: number; readonly exited: boolean; readonly status: string; readonly error?: string } | undefined;
}

interface Response {
  readonly event?: {
    readonly event: {
      readonly case: string;
      readonly value: { pid: number; output: { case: "stdout" | "stderr" | "pty"; value: Uint8Array } };
    };
  };
}

export async function collected(stream: AsyncIterable<Response>): Promise<Ran> {
  const out = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[], pty: [] as Uint8Array[] };
  let pid = 0;
  let end: Ran["end"];
  for await (const { event } of stream) {
    if (event?.event.case === "start") pid = event.event.value.pid;
    if (event?.event.case === "data") out[event.event.value.output.case].push(event.event.value.output.value);
    if (event?.event.case === "end") end = event.event.value as unknown as Ran["end"];
  }
  const text = (chunks: readonly Uint8Array[]): string => Buffer.concat(chunks).toString("utf8");
  return { pid, stdout: text(out.stdout), stderr: text(out.stderr), pty: text(out.pty), end };
}

/** A shell command as the SDKs send it. */
export function shell(command: string): { process: { cmd: string; args: string[] } } {
  return { process: { cmd: "/bin/sh", args: ["-c", command] } };
}

export function asUser(name: string): { headers: Record<string, string> } {
  return { headers: { authorization: `Basic ${Buffer.from(`${name}:`).toString("base64")}` } };
}
