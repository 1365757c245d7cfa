/** Everything that a command uses from outside the process, so that tests need no process. */
import type { Readable, Writable } from "node:stream";
import type { ObjectClient } from "#kube/object-client.ts";
import type { Clock } from "#lib/clock.ts";
import type { ExecSignal } from "#model/exec-signals.ts";
import type { ContextStore, ServerContext } from "./config/server-contexts.ts";
import type { MachineProbe } from "./doctor/checks.ts";
import type { MachineBackups } from "./machine-backups.ts";
import type { MachineImages } from "./machine-images.ts";
import type { MachineService } from "./machine-service.ts";
import type { ReadyTemplates } from "./ready-templates.ts";
import type { SystemTrust } from "./system-trust.ts";

export interface CliContext {
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  /** True if standard input and output are both a terminal. */
  readonly hasTerminal: () => boolean;
  /** The user's terminal; undefined if there is none. */
  readonly terminal: () => UserTerminal | undefined;
  /** The streams and signals of this process, for a command that runs elsewhere as if it ran here. */
  readonly attach: () => AttachedProcess;
  /** Asks a question at the user's terminal, and resolves with the typed line. */
  readonly ask: (question: string) => Promise<string>;
  /** All of standard input. */
  readonly readStdin: () => Promise<string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative paths start here. */
  readonly cwd: string;
  readonly clock: Clock;
  /** Aborted when the user presses Ctrl-C or the process gets SIGTERM. */
  readonly signal: AbortSignal;
  readonly version: string;
  /** AgentBox's data folder, and the address of its server. */
  readonly home: Home;
  /** Other data folders on this machine. */
  readonly homeAt: (folder: string) => Home;
  /** The servers that this user has saved, and the one chosen by `--context`. */
  readonly contexts: ContextStore;
  readonly contextName?: string | undefined;
  /** A client of the objects of a running server or of a cluster; fails with a CliError that says how to start one. */
  readonly connect: (place?: ServerContext) => Promise<ObjectClient>;
  /** Runs the server until it is stopped; resolves with the exit code. */
  readonly serve: (options: ServeRequest) => Promise<number>;
  /** Runs parts of AgentBox for a cluster until they are stopped; resolves with the exit code. */
  readonly serveParts: (options: ServePartsRequest) => Promise<number>;
  /** Stops the server if it runs, and removes all sandboxes of this folder from the machine; resolves with the exit code. */
  readonly takeDown: () => Promise<number>;
  /** The images on this machine; needs no server. */
  readonly images: () => Promise<MachineImages>;
  /** Templates that are built on this machine; needs no server. */
  readonly readyTemplates: () => Promise<ReadyTemplates>;
  /** Backups of the usual data folder, or of another one on this machine; a running server helps with its part. */
  readonly backups: (folder?: string) => Promise<MachineBackups>;
  /** AgentBox as a service of this machine. */
  readonly service: () => Promise<MachineService>;
  /** The facts about this machine, for `agentbox doctor`. */
  readonly probeMachine: () => Promise<MachineProbe>;
  /** The list of authorities that programs of this system trust; needs no server. */
  readonly trust: () => Promise<SystemTrust>;
}

/** Until it is disposed of, signals and broken outputs are passed to the command and do not end this process. */
export interface AttachedProcess extends Disposable {
  readonly stdin: Readable;
  readonly isStdinTerminal: boolean;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** The third signal ends this process anyway. */
  readonly onSignal: (handler: (name: ExecSignal) => void) => void;
}

export interface TextSink {
  write(text: string): unknown;
  /** True for a terminal: lines can be overwritten. */
  readonly isTTY?: boolean;
  /** Characters in a line. */
  readonly columns?: number | undefined;
}

/** A terminal that delivers single keys until it is disposed of; Ctrl-C is an ordinary key. */
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
  /** Where the server of this folder listens; undefined if none runs. */
  readonly httpAddress: () => Promise<string | undefined>;
  /** Where sandboxes are reached: the plain address, and the domain (with its port) of their hosts; undefined if no server runs sandboxes. */
  readonly gateway: () => Promise<GatewayPlace | undefined>;
  /** The API key that the first start created for this user; undefined if there is none. */
  readonly adminKey: () => Promise<string | undefined>;
}

export interface GatewayPlace {
  readonly address: string;
  readonly domain: string;
  /** The authority of its certificate, if this machine created it. */
  readonly authorityFile?: string | undefined;
}

/** Addresses of the gateway. */
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
  /** Log lines go to stderr in this format; left out: to a file in the data folder. */
  readonly logFormat: "json" | "text" | undefined;
  /** Whether this machine runs pods. */
  readonly sandboxes: boolean;
  /** Hosts that webhooks may be at though their addresses are not public. */
  readonly webhookHosts?: readonly string[] | undefined;
}

/** The parts of AgentBox on a cluster: each in one process or several, together or apart. */
export const serveParts = ["api", "controllers", "gateway", "node"] as const;
export type ServePart = (typeof serveParts)[number];

export interface ServePartsRequest extends ServeLimits {
  readonly parts: readonly ServePart[];
  /** Left out: found as kubectl does, or from the pod that this process runs in. */
  readonly kubeconfig: string | undefined;
  /** Namespace of AgentBox's own objects; left out: that of the pod or of the kubeconfig's context. */
  readonly namespace: string | undefined;
  /** Default namespace of pools. */
  readonly poolNamespace: string;
  /** Manage only pools of this namespace; left out: those of the whole cluster. */
  readonly onlyNamespace?: string | undefined;
  /** Id of this cluster in the clusters of Envs; left out: Envs are not managed. */
  readonly clusterID?: string | undefined;
  readonly host: string;
  readonly port: number;
  readonly healthPort: number;
  readonly gateway: Omit<GatewayWish, "host" | "domain">;
  /** Domain of the sandboxes' hosts; with a port where clients need one. */
  readonly domain: string;
  /** Where the gateway finds the API, for `api.<domain>`; left out: in its own process, or nowhere. */
  readonly apiAddress?: { readonly host: string; readonly port: number } | undefined;
  /** How long open streams may continue when the gateway stops. */
  readonly streamGraceMs?: number | undefined;
  /** The image that brings the daemon into pods. */
  readonly daemonImage: string | undefined;
  /** Database of the history; left out: a file in the data folder, which only one process can open. */
  readonly databaseUrl: string | undefined;
  /** For the part `node`: the name of the node, and where its control groups are mounted. */
  readonly node?: { readonly name: string; readonly cgroupRoot: string } | undefined;
  /** Where images of checkpoints are kept; left out: none are taken. */
  readonly checkpoints?: { readonly repository: string; readonly credentialsFile: string | undefined } | undefined;
}

/** Settings that are left out have the server's defaults. */
export interface ServeLimits {
  /** How long the history keeps ended sandboxes. */
  readonly retentionMs?: number;
  /** How long the audit log keeps an entry, and how many of each team; 0: no audit log. */
  readonly auditRetentionMs?: number;
  readonly auditEntries?: number;
  /** How long logs of ended sandboxes are kept, 0: not at all; and how much of each. */
  readonly logRetentionMs?: number;
  readonly logSizeKib?: number;
  /** Requests per second for each API key; 0: no limit. */
  readonly rateLimit?: number;
  readonly rateBurst?: number;
  /** Number of sandboxes after which a pod is replaced. */
  readonly maxUses?: number;
  /** Creates an Env for every pool without one. */
  readonly adoptPools?: boolean;
  /** How many creates may wait at once. */
  readonly queueSize?: number;
  /** The longest timeout that E2B clients may request. */
  readonly maxTimeoutMs?: number;
  /** Limits of open requests and connections, for all sandboxes and for one. */
  readonly maxOpen?: number;
  readonly maxOpenOfSandbox?: number;
  /** The file with the plugins; left out: the one in the data folder, if it exists. */
  readonly plugins?: string;
  /** The file that describes the OpenID Connect provider by which people sign in to the console. */
  readonly oidc?: string;
}
