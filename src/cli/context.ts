/** What a command has at hand. Everything outside the process comes in here, so that tests need no process. */
import type { Readable, Writable } from "node:stream";
import type { ObjectClient } from "#kube/object-client.ts";
import type { Clock } from "#lib/clock.ts";
import type { ExecSignal } from "#model/exec-signals.ts";
import type { ContextStore, ServerContext } from "./config/server-contexts.ts";
import type { MachineProbe } from "./doctor/checks.ts";
import type { MachineBackups } from "./machine-backups.ts";
import type { MachineImages } from "./machine-images.ts";
import type { MachineService } from "./machine-service.ts";
import type { SystemTrust } from "./system-trust.ts";

export interface CliContext {
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  /** Whether the user sits at one: standard input and output both are. */
  readonly hasTerminal: () => boolean;
  /** That terminal; undefined when there is none. */
  readonly terminal: () => UserTerminal | undefined;
  /** This process's streams and signals, for a command that runs elsewhere as if it ran here. */
  readonly attach: () => AttachedProcess;
  /** Asks at the user's terminal, and resolves with the line that is typed. */
  readonly ask: (question: string) => Promise<string>;
  /** All of standard input. */
  readonly readStdin: () => Promise<string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative paths start here. */
  readonly cwd: string;
  readonly clock: Clock;
  /** Aborted when the user presses Ctrl-C or the process is told to end. */
  readonly signal: AbortSignal;
  readonly version: string;
  /** The folder with AgentBox's data, and where its server can be reached. */
  readonly home: Home;
  /** Those of other data folders on this machine. */
  readonly homeAt: (folder: string) => Home;
  /** The servers that this user keeps, and the one that `--context` chose. */
  readonly contexts: ContextStore;
  readonly contextName?: string | undefined;
  /** A client of the objects of a running server or of a cluster; fails with a CliError that says how to start one. */
  readonly connect: (place?: ServerContext) => Promise<ObjectClient>;
  /** Runs the server until it is told to end; resolves with the exit code. */
  readonly serve: (options: ServeRequest) => Promise<number>;
  /** Runs parts of AgentBox for a cluster until they are told to end; resolves with the exit code. */
  readonly serveParts: (options: ServePartsRequest) => Promise<number>;
  /** Ends the server if it runs, and removes all sandboxes of this folder from the machine; resolves with the exit code. */
  readonly takeDown: () => Promise<number>;
  /** The images on this machine; needs no server. */
  readonly images: () => Promise<MachineImages>;
  /** Backups of the usual data folder, or of another one on this machine; a running server helps with its part. */
  readonly backups: (folder?: string) => Promise<MachineBackups>;
  /** AgentBox as a service of this machine. */
  readonly service: () => Promise<MachineService>;
  /** What there is on this machine, for `agentbox doctor`. */
  readonly probeMachine: () => Promise<MachineProbe>;
  /** What this system's programs trust; needs no server. */
  readonly trust: () => Promise<SystemTrust>;
}

/** Given back when it is disposed of: until then, signals and broken outputs are the command's and do not end this process. */
export interface AttachedProcess extends Disposable {
  readonly stdin: Readable;
  readonly isStdinTerminal: boolean;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** The third one ends us all the same. */
  readonly onSignal: (handler: (name: ExecSignal) => void) => void;
}

export interface TextSink {
  write(text: string): unknown;
  /** A person looks at it, and lines can be written over. */
  readonly isTTY?: boolean;
  /** Characters in a line. */
  readonly columns?: number | undefined;
}

/** A terminal whose keys come one by one, until it is disposed of: Ctrl-C is a key like others. */
export interface UserTerminal extends Disposable {
  readonly rows: number;
  readonly cols: number;
  readonly show: (bytes: Uint8Array) => void;
  readonly onTyped: (handler: (bytes: Uint8Array<ArrayBuffer>) => void) => void;
  readonly onResize: (handler: () => void) => void;
}

export interface Home {
  readonly folder: string;
  readonly socketPath: string;
  /** Where the server that runs on this folder listens; undefined when none does. */
  readonly httpAddress: () => Promise<string | undefined>;
  /** Where sandboxes are reached: plain, and the domain (with its port) whose hosts they are; undefined when no server runs any. */
  readonly gateway: () => Promise<GatewayPlace | undefined>;
  /** The API key that the first start made for this user; undefined when there is none. */
  readonly adminKey: () => Promise<string | undefined>;
}

export interface GatewayPlace {
  readonly address: string;
  readonly domain: string;
  /** Of the authority of its certificate, where that is this machine's own. */
  readonly authorityFile?: string | undefined;
}

/** Where sandboxes shall be reached. */
export interface GatewayWish {
  readonly host: string;
  readonly port: number;
  readonly tlsPort: number;
  readonly domain: string;
  readonly certificate?: { readonly certFile: string; readonly keyFile: string };
}

export interface ServeRequest extends ServeLimits {
  /** Where the APIs listen. */
  readonly host: string;
  readonly port: number;
  readonly gateway: GatewayWish;
  /** Log lines go to stderr in this form; to a file in the data folder when left out. */
  readonly logFormat: "json" | "text" | undefined;
  /** Whether pods are run on this machine. */
  readonly sandboxes: boolean;
}

/** What AgentBox is on a cluster: each in one process or in many, together or apart. */
export const serveParts = ["api", "controllers", "gateway", "node"] as const;
export type ServePart = (typeof serveParts)[number];

export interface ServePartsRequest extends ServeLimits {
  readonly parts: readonly ServePart[];
  /** Left out: as kubectl finds it, or the pod that we run in. */
  readonly kubeconfig: string | undefined;
  /** Where AgentBox's own things are; left out: where the pod or the kubeconfig's context stands. */
  readonly namespace: string | undefined;
  /** Where pools are when nobody says where. */
  readonly poolNamespace: string;
  /** Pools of this namespace alone are looked after; left out: those of the whole cluster. */
  readonly onlyNamespace?: string | undefined;
  /** Which entry of an Env's clusters is this cluster's; left out: Envs are not kept. */
  readonly clusterID?: string | undefined;
  readonly host: string;
  readonly port: number;
  readonly healthPort: number;
  readonly gateway: Omit<GatewayWish, "host" | "domain">;
  /** Whose hosts sandboxes are; with a port where clients need one. */
  readonly domain: string;
  /** Where the gateway finds the API, for `api.<domain>`; left out: in its own process, or nowhere. */
  readonly apiAddress?: { readonly host: string; readonly port: number } | undefined;
  /** How long streams may go on when the gateway ends. */
  readonly streamGraceMs?: number | undefined;
  /** What brings the daemon into pods. */
  readonly daemonImage: string | undefined;
  /** Where the history is; left out: a file in the data folder, which only one process can have. */
  readonly databaseUrl: string | undefined;
  /** For the part `node`: which node it is on, and where that has its control groups. */
  readonly node?: { readonly name: string; readonly cgroupRoot: string } | undefined;
}

/** What is left out is as the server has it. */
export interface ServeLimits {
  /** How long ended sandboxes are remembered. */
  readonly retentionMs?: number;
  /** Requests per second for each API key; 0: no limit. */
  readonly rateLimit?: number;
  readonly rateBurst?: number;
  /** After how many sandboxes a pod is replaced. */
  readonly maxUses?: number;
  /** Every pool without an Env gets one. */
  readonly adoptPools?: boolean;
  /** How many creates may wait at a time. */
  readonly queueSize?: number;
  /** The longest timeout that E2B's clients may ask for. */
  readonly maxTimeoutMs?: number;
  /** How many requests and connections may be open to all sandboxes, and to one. */
  readonly maxOpen?: number;
  readonly maxOpenOfSandbox?: number;
  /** The file that names plugins; left out: in the data folder, if there is one. */
  readonly plugins?: string;
}
