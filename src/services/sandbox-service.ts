/**
 * The use cases of sandboxes, as every API sees them. Each throws ServiceError. What is behind them is in the files beside this one.
 */
import type { EgressPolicy } from "#model/egress-policy.ts";
import type { TimeoutAction } from "#model/keys.ts";
import type { ExecSession } from "#kube/pod-access.ts";
import type { SandboxRecord, SandboxRecordStatus } from "#model/sandbox-record.ts";
import type { PodStatusDetail } from "#sandbox/health/diagnosis.ts";
import type { Caller } from "./caller.ts";

export interface SandboxService {
  /**
   * Resolves with an armed sandbox (I5), or with one that is `Starting` when the caller does not want to wait.
   * When the signal is aborted the request leaves the queue, or the pod it got goes back.
   */
  create(caller: Caller, command: CreateSandbox, options: CreateOptions): Promise<CreatedSandbox>;
  /** `atLeast` of them or none: what is too few goes back. Left out: all of them. */
  createMany(caller: Caller, command: CreateSandbox, options: CreateOptions & BatchOptions): Promise<CreatedBatch>;
  get(caller: Caller, sandboxId: string): Promise<SandboxDetail>;
  /** As `get`, without what is wrong with it, which costs a question to the object server. */
  view(caller: Caller, sandboxId: string): Promise<SandboxView>;
  list(caller: Caller, query: ListSandboxes): Promise<SandboxPage>;
  /** How many of the live ones fit, of all pages; undefined if too many would have to be looked at. */
  countLive(caller: Caller, filter: LiveFilter): number | undefined;
  /** Ending a sandbox that has ended is a success; one that there never was is not_found. */
  end(caller: Caller, sandboxId: string): Promise<void>;
  setTimeouts(caller: Caller, sandboxId: string, change: TimeoutChange): Promise<SandboxView>;
  /** Resolves when it is paused: frozen, or without its memory when a checkpoint has it and its pod is given back. */
  pause(caller: Caller, sandboxId: string, signal: AbortSignal, options?: PauseOptions): Promise<SandboxView>;
  resume(caller: Caller, sandboxId: string, signal: AbortSignal): Promise<SandboxView>;
  /** Resolves when the node acts on it. */
  setEgress(caller: Caller, sandboxId: string, change: EgressChange): Promise<SandboxView>;
  /** The sandbox now, and again whenever it changes, until it has ended or the signal is aborted. */
  watch(caller: Caller, sandboxId: string, signal: AbortSignal): AsyncIterable<SandboxDetail>;
  logs(caller: Caller, sandboxId: string, request: LogRequest): AsyncIterable<Buffer>;
  exec(caller: Caller, sandboxId: string, command: ExecRequest): Promise<ExecSession>;
}

export interface CreateSandbox {
  /** An Env or a pool: `name`, or `namespace/name`. An Env goes before a pool of the same name. */
  readonly from: string;
  /** Which members of the Env may serve it; those of the Env's default size when none of these is given. */
  readonly instanceType?: string;
  readonly multiplier?: number;
  readonly scalingGroup?: string;
  /** At least so much, in cores and bytes: the smallest member that has it serves the create. */
  readonly cpu?: number;
  readonly memory?: number;
  /** Only members that serve this version of the Env's template. Of no use for a pool without an Env, which serves one version. */
  readonly templateVersion?: string;
  /** For the first container; `containerImages` goes before it. */
  readonly image?: string;
  readonly containerImages?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly startupTimeoutMs?: number;
  /** How much of that may go by without a pod; all of it when left out. */
  readonly waitMs?: number;
  /** 0: none, whatever the pool says. */
  readonly idleTimeoutMs?: number;
  /** How long it lives at most, from its start. */
  readonly lifetimeMs?: number;
  readonly onTimeout?: TimeoutAction;
  /** Traffic wakes it when it is paused. */
  readonly autoResume?: boolean;
  /** Where it may connect to; left out: the Internet, and nothing private. */
  readonly egress?: EgressPolicy;
  /** Volumes of the caller by name or id, and where they are mounted. */
  readonly volumeMounts?: readonly MountWish[];
  /** Requests to its ports, except the daemon's, need its traffic token. */
  readonly privateTraffic?: boolean;
  /** What its programs see as the host of a request; `${PORT}` stands for the port. */
  readonly maskHost?: string;
  /** Given to the daemon, and nowhere written down. */
  readonly envVars?: Readonly<Record<string, string>>;
  /** Whether the daemon asks for the sandbox's access token. */
  readonly secure?: boolean;
  readonly postStartHooks?: readonly PostStartHook[];
  /** User and folder of commands that name none; left out: those of the image. */
  readonly defaultUser?: string;
  readonly defaultWorkdir?: string;
  /** The same key again, from the same caller: the same sandbox. */
  readonly idempotencyKey?: string;
}

export interface PauseOptions {
  /** False: the sandbox gives back its pod, and what it runs ends. True when left out. */
  readonly memory?: boolean;
}

export interface MountWish {
  /** Name or id of a volume. */
  readonly name: string;
  readonly path: string;
  readonly readOnly?: boolean;
}

/** Run in order once the sandbox is armed. Each is tried again for a while; the first that fails for good fails the create. */
export type PostStartHook =
  | { readonly exec: { readonly command: readonly string[]; readonly user?: string; readonly timeoutMs?: number } }
  | {
      readonly http: {
        readonly port: number;
        readonly path?: string;
        readonly method?: "GET" | "POST" | "PUT";
        readonly headers?: Readonly<Record<string, string>>;
        readonly body?: string;
        readonly timeoutMs?: number;
      };
    };

export interface CreateOptions {
  readonly signal: AbortSignal;
  /** False: the answer comes with the claim. Starting, arming and hooks go on, and what fails then ends the sandbox. */
  readonly wait: boolean;
}

export interface BatchOptions {
  readonly count: number;
  readonly atLeast?: number;
}

export interface CreatedSandbox {
  readonly sandbox: SandboxView;
  /** Of the daemon, when the sandbox is secure. Never stored: made from the id and the control plane's key. */
  readonly accessToken?: string;
  /** Of its ports, when they are private. */
  readonly trafficToken?: string;
}

export interface CreatedBatch {
  readonly sandboxes: readonly CreatedSandbox[];
  /** Why the others are missing. */
  readonly failures: readonly { readonly code: string; readonly message: string }[];
}

/** A record with what only a live sandbox has. */
export interface SandboxView extends SandboxRecord {
  /** What it may write, as a Kubernetes quantity. */
  readonly disk?: string;
  readonly startupTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
  /** ISO 8601. */
  readonly endTime?: string;
  readonly onTimeout?: TimeoutAction;
  readonly autoResume?: boolean;
  readonly privateTraffic?: boolean;
  /** Its daemon wants no access token. */
  readonly openDaemon?: boolean;
  readonly maskHost?: string;
  /** Where it may connect to; left out: the Internet, and nothing private. */
  readonly egress?: EgressPolicy;
  readonly lastActiveAt?: string;
}

export interface SandboxDetail extends SandboxView {
  /** Why it is where it is, with the Warning events about it. */
  readonly diagnosis?: PodStatusDetail;
}

export interface ListSandboxes {
  /** 1 to 1000; 100 when left out. */
  readonly limit?: number;
  /** The `next` of the page before. */
  readonly cursor?: string;
  readonly pool?: string;
  readonly env?: string;
  readonly template?: string;
  readonly status?: readonly SandboxRecordStatus[];
  readonly claimedAfter?: string;
  readonly claimedBefore?: string;
  readonly endedAfter?: string;
  readonly endedBefore?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly idPrefix?: string;
  /** Oldest first is for lists of live ones only. A cursor is good for the order that it came from. */
  readonly order?: "newest" | "oldest";
}

/** Of live sandboxes: an end is no part of it. */
export type LiveFilter = Omit<ListSandboxes, "limit" | "cursor" | "order" | "endedAfter" | "endedBefore">;

/** A page may be short and still have a next one. */
export interface SandboxPage {
  readonly sandboxes: readonly SandboxView[];
  readonly next?: string;
}

/** What is left out stays as it is. Times are from now on. */
export interface TimeoutChange {
  /** 0: none. */
  readonly idleTimeoutMs?: number;
  /** Null: no end time. */
  readonly lifetimeMs?: number | null;
  /** An end time that is already later stays. */
  readonly onlyLater?: boolean;
}

export interface EgressChange {
  /** Undefined: as if nothing had ever been said. */
  readonly egress: EgressPolicy | undefined;
  readonly signal: AbortSignal;
}

export interface LogRequest {
  readonly container?: string;
  /** The name of a runtime: the file that it logs to. Left out, or stdout: what the container writes. */
  readonly source?: string;
  readonly tail?: number;
  readonly sinceMs?: number;
  readonly follow?: AbortSignal;
  /** Ends the reading when the caller is gone. */
  readonly signal?: AbortSignal;
}

export interface ExecRequest {
  readonly container?: string;
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: string;
  readonly workingDir?: string;
  readonly tty?: { readonly rows: number; readonly cols: number };
  readonly signal?: AbortSignal;
}
