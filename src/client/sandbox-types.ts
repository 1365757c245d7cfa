/** Sandboxes as the native API sends and receives them. A test compares these types with the API's schemas. */
import type { EgressPolicy } from "#model/egress-policy.ts";
import type { TimeoutAction } from "#model/keys.ts";
import type { SandboxRecord, SandboxRecordStatus } from "#model/sandbox-record.ts";

type Texts = Readonly<Record<string, string>>;

/** Time spans are texts such as 90s, 30m or 1h30m; times are RFC 3339. */
export interface Sandbox extends Omit<SandboxRecord, "stopReason"> {
  readonly stopReason?: string;
  readonly disk?: string;
  readonly startupTimeout?: string;
  readonly idleTimeout?: string;
  readonly endTime?: string;
  readonly onTimeout?: TimeoutAction;
  readonly autoResume?: boolean;
  readonly privateTraffic?: boolean;
  readonly openDaemon?: boolean;
  readonly maskHost?: string;
  readonly egress?: EgressPolicy;
  readonly lastActiveAt?: string;
  /** Why the sandbox is stuck; absent if it is not. */
  readonly diagnosis?: SandboxDiagnosis;
}

export interface SandboxDiagnosis {
  readonly podName: string;
  readonly phase: string;
  readonly reason: string;
  readonly message: string;
  readonly events?: readonly DiagnosisEvent[];
}

export interface DiagnosisEvent {
  readonly reason: string;
  readonly message: string;
  readonly lastTimestamp: string;
  readonly count: number;
}

export interface SandboxWish {
  /** An Env or a pool: name, or namespace/name. */
  readonly poolName: string;
  /** Only pools of the Env with these values. */
  readonly instanceType?: string;
  readonly multiplier?: number;
  readonly scalingGroup?: string;
  readonly image?: string;
  readonly containerImages?: Texts;
  readonly labels?: Texts;
  readonly annotations?: Texts;
  readonly metadata?: Texts;
  readonly startupTimeout?: string;
  readonly idleTimeout?: string;
  readonly lifetime?: string;
  readonly onTimeout?: TimeoutAction;
  readonly autoResume?: boolean;
  readonly privateTraffic?: boolean;
  /** Volumes by name or id, and where they are mounted. */
  readonly volumeMounts?: readonly MountWish[];
  readonly envVars?: Texts;
  readonly secure?: boolean;
  readonly postStartHooks?: readonly PostStartHookWish[];
}

export interface MountWish {
  readonly name: string;
  readonly path: string;
  readonly readOnly?: boolean;
}

export type PostStartHookWish =
  | { readonly exec: { readonly command: readonly string[]; readonly user?: string; readonly timeout?: string } }
  | {
      readonly http: {
        readonly port: number;
        readonly path?: string;
        readonly method?: "GET" | "POST" | "PUT";
        readonly headers?: Texts;
        readonly body?: string;
        readonly timeout?: string;
      };
    };

export interface CreatedSandbox {
  readonly sandbox: Sandbox;
  readonly accessToken?: string;
  readonly trafficToken?: string;
}

export interface SandboxQuery {
  readonly limit?: number;
  /** The `next` of the page before. */
  readonly cursor?: string;
  readonly poolName?: string;
  readonly envName?: string;
  readonly templateName?: string;
  readonly status?: readonly SandboxRecordStatus[];
  readonly claimedAfter?: string;
  readonly claimedBefore?: string;
  readonly endedAfter?: string;
  readonly endedBefore?: string;
  /** key=value each. */
  readonly metadata?: readonly string[];
  readonly idPrefix?: string;
}

export interface SandboxPage {
  readonly sandboxes: readonly Sandbox[];
  readonly next?: string;
}

export interface TimeoutWish {
  readonly idleTimeout?: string;
  /** Null: no end. */
  readonly lifetime?: string | null;
  readonly endTime?: string;
  readonly onlyLater?: boolean;
}

export interface LogQuery {
  readonly container?: string;
  /** The name of a runtime: the file that it logs to. */
  readonly source?: string;
  readonly tail?: number;
  readonly since?: string;
}

export interface LogPart {
  readonly lines: readonly string[];
  /** True if the oldest lines are missing. */
  readonly truncated: boolean;
}

/** One line of a followed log; the last one gives the reason of the end. */
export type LogLine = { readonly line: string; readonly partial?: boolean } | { readonly _meta: LogEnd };

export interface LogEnd {
  readonly reason: string;
  readonly lines: number;
  readonly code?: string;
  readonly message?: string;
}

export interface ExecWish {
  readonly command: readonly string[];
  readonly env?: Texts;
  readonly user?: string;
  readonly workingDir?: string;
  readonly container?: string;
  readonly stdin?: string;
  readonly stdinEncoding?: "utf-8" | "base64";
  readonly timeout?: string;
}

export type ExecStreamWish = Omit<ExecWish, "stdin" | "stdinEncoding">;

export interface TerminalWish {
  /** A shell when left out. */
  readonly command?: readonly string[];
  readonly env?: Texts;
  readonly user?: string;
  readonly workingDir?: string;
  readonly container?: string;
  readonly rows?: number;
  readonly cols?: number;
}

export interface ExecResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stdoutEncoding: "utf-8" | "base64";
  readonly stdoutBytes: number;
  readonly stderr: string;
  readonly stderrEncoding: "utf-8" | "base64";
  readonly stderrBytes: number;
  readonly truncated: boolean;
  readonly startError?: string;
}
