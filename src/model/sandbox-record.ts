/**
 * One sandbox as lists, histories and replies show it: a live one is read from its pod, an ended one from the history store.
 * All times are ISO 8601 in UTC with milliseconds, as Date.prototype.toISOString writes them, so that comparing the text is
 * comparing the time.
 */
import { type SandboxStopReason, sandboxStopReasons } from "./keys.ts";

/** What a sandbox that has not ended may be doing. */
export const liveSandboxStatuses = ["Starting", "Running", "Paused", "Stopping"] as const;
export type LiveSandboxStatus = (typeof liveSandboxStatuses)[number];

/** An ended sandbox's status is the reason for which it was stopped. */
export type SandboxRecordStatus = LiveSandboxStatus | SandboxStopReason;

export const sandboxRecordStatuses: readonly SandboxRecordStatus[] = [...liveSandboxStatuses, ...sandboxStopReasons];

export interface SandboxRecord {
  readonly sandboxId: string;
  readonly namespace: string;
  readonly poolName: string;
  readonly envName?: string;
  readonly templateName?: string;
  readonly podName: string;
  /** Owner. Both are empty for a sandbox that was made without one, which only an admin sees. */
  readonly team: string;
  readonly user: string;
  readonly status: SandboxRecordStatus;
  /** When a request took the pod. Never changes, so it orders every list. */
  readonly claimedAt: string;
  readonly startedAt?: string;
  /** When it ended: always there when the status is terminal. */
  readonly terminatedAt?: string;
  readonly stopReason?: SandboxStopReason;
  /** One of failureReasons, or what the container's last state said. */
  readonly failureReason?: string;
  readonly failureMessage?: string;
  readonly exitCode?: number;
  readonly containerId?: string;
  /** Container name to image, as they ran. */
  readonly containerImages: Readonly<Record<string, string>>;
  /** What the caller wanted remembered. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  /** Kubernetes quantities, summed over the containers. */
  readonly cpu?: string;
  readonly memory?: string;
  readonly node?: string;
  /** Volumes that it has or had mounted. */
  readonly volumeMounts?: readonly RecordedMount[];
}

export interface RecordedMount {
  readonly name: string;
  readonly path: string;
  readonly readOnly: boolean;
}

const terminal: ReadonlySet<string> = new Set(sandboxStopReasons);

export function isTerminalStatus(status: SandboxRecordStatus): status is SandboxStopReason {
  return terminal.has(status);
}
