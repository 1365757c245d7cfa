/** The command line in this process: what it is given, and what it says. */
import { Readable, Writable } from "node:stream";
import { runCli } from "#cli/main.ts";
import type { AttachedProcess, CliContext } from "#cli/context.ts";
import { noContexts } from "#cli/config/server-contexts.ts";
import type { MachineProbe } from "#cli/doctor/checks.ts";
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
  readonly isStdinTerminal?: boolean;
  /** Gets the handler that the command registers for signals. */
  readonly onSignal?: AttachedProcess["onSignal"];
  /** Told of each piece of output as it comes. */
  readonly onOutput?: (text: string) => void;
}

/** A machine on which all is as it should be. */
export const healthyMachine: MachineProbe = {
  kernel: "6.12.0-amd64",
  isRoot: true,
  cgroup: "v2",
  controllers: ["cpu", "memory", "pids"],
  maxUserNamespaces: 63_000,
  fileSystems: ["overlay", "ext4"],
  runc: { version: "1.4.1", hole: undefined },
  commands: { nft: true, ip: true },
  disk: { path: "/home/me/.agentbox", freeBytes: 1e11, totalBytes: 2e11 },
  server: { isRunning: true, health: 200 },
  takenPorts: [],
  certificateEnds: undefined,
  registries: [],
  database: undefined,
};

export async function agentbox(argv: readonly string[], surroundings: CliSurroundings = {}): Promise<Said> {
  const { client, stdin = "", isStdinTerminal = false, onSignal = () => {}, onOutput, ...given } = surroundings;
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
    hasTerminal: () => given.terminal !== undefined,
    terminal: () => undefined,
    attach: () => ({
      stdin: Readable.from(stdin === "" ? [] : [Buffer.from(stdin)]),
      isStdinTerminal,
      stdout: bytesTo(sink("stdout")),
      stderr: bytesTo(sink("stderr")),
      onSignal,
      [Symbol.dispose]: () => {},
    }),
    ask: async () => stdin,
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
    homeAt: () => {
      throw new CliError("no other data folder in this test");
    },
    contexts: { path: "/home/me/.config/agentbox/config.json", read: async () => noContexts, write: async () => {} },
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
    readyTemplates: async () => {
      throw new CliError("no templates in this test");
    },
    backups: async () => {
      throw new CliError("no backups in this test");
    },
    service: async () => {
      throw new CliError("no service in this test");
    },
    probeMachine: async () => healthyMachine,
    trust: async () => ({ authorityFile: undefined, store: undefined }),
    ...given,
  };
  const code = await runCli(context, argv);
  return { ...said, code };
}

function bytesTo(sink: { write: (text: string) => void }): Writable {
  return new Writable({
    write: (chunk: Buffer, _, done) => {
      sink.write(chunk.toString());
      done();
    },
  });
}
