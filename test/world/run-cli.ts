/** The command line in this process: what it is given, and what it says. */
import { runCli } from "#cli/main.ts";
import type { CliContext } from "#cli/context.ts";
import { CliError } from "#cli/failure.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { systemClock } from "#lib/clock.ts";

export interface Said {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

export interface CliSurroundings extends Partial<Omit<CliContext, "stdout" | "stderr" | "readStdin">> {
  /** No server runs when left out. */
  readonly client?: ObjectClient;
  readonly stdin?: string;
  /** Told of each piece of output as it comes. */
  readonly onOutput?: (text: string) => void;
}

export async function agentbox(argv: readonly string[], surroundings: CliSurroundings = {}): Promise<Said> {
  const { client, stdin = "", onOutput, ...given } = surroundings;
  const said = { stdout: "", stderr: "" };
  const sink = (stream: keyof typeof said): { write: (text: string) => void } => ({
    write: (text) => {
      said[stream] += text;
      onOutput?.(text);
    },
  });
  const context: CliContext = {
    stdout: sink("stdout"),
    stderr: sink("stderr"),
    terminal: () => undefined,
    readStdin: async () => stdin,
    env: {},
    cwd: process.cwd(),
    clock: systemClock,
    signal: new AbortController().signal,
    version: "1.2.3",
    home: {
      folder: "/home/me/.agentbox",
      socketPath: "/home/me/.agentbox/run/api.sock",
      httpAddress: async () => undefined,
      gateway: async () => undefined,
      adminKey: async () => undefined,
    },
    connect: async () => {
      if (client === undefined) throw new CliError("no server in this test");
      return client;
    },
    serve: async () => 0,
    serveParts: async () => 0,
    takeDown: async () => 0,
    images: async () => {
      throw new CliError("no images in this test");
    },
    trust: async () => ({ authorityFile: undefined, store: undefined }),
    ...given,
  };
  const code = await runCli(context, argv);
  return { ...said, code };
}
