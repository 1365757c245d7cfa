/**
 * Decides if it is time to end a sandbox, and how. Three clocks can end it: the startup timeout until it is armed, the idle timeout and the end time once
 * it runs. None applies to a paused sandbox. Missing information never ends a sandbox: neither activity that could not be read, nor a time that cannot be
 * parsed.
 */
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys, failureReasons, type SandboxStopReason, type TimeoutAction, timeoutActions } from "#model/keys.ts";
import { isFrozen, pauseWish } from "#model/pause.ts";
import type { Pod } from "#model/pod.ts";
import { parseSeconds, parseTime } from "./annotation-values.ts";
import { hooksGraceMs, hooksMarkOf } from "./hooks-mark.ts";
import { phaseSince } from "./phase.ts";

/** Answer of the sources of traffic. */
export type Activity =
  /** A source that may have seen traffic could not be asked. */
  | { readonly kind: "unknown" }
  | {
      readonly kind: "known";
      /** An open stream or a running request is traffic as long as it lasts (W21). */
      readonly inUse: boolean;
      /** Of the newest traffic; left out when none was seen. */
      readonly lastActiveMs?: number;
    };

export interface EndSnapshot {
  readonly pod: Pod;
  readonly activity: Activity;
  /** What the daemon says of being armed; undefined when it was not asked, or did not answer. */
  readonly isArmed?: boolean;
  /** When this process first saw the claim, by its own clock; left out: the time on the pod. Only the startup timeout uses it. */
  readonly claimSeenMs?: number | undefined;
  /** The pool's limit for pods that do not say themselves; left out: none. */
  readonly defaultStartupTimeoutMs?: number;
  /** How late activity may become known. Idle sandboxes get so much longer. */
  readonly refreshIntervalMs: number;
}

export type EndVerdict =
  /** Nothing can change before `recheckAtMs`, as things stand; left out: no clock runs. */
  | { readonly kind: "lives"; readonly recheckAtMs?: number }
  | {
      readonly kind: "end";
      readonly action: TimeoutAction;
      readonly stopReason: SandboxStopReason;
      readonly failureReason: string;
      readonly failureMessage: string;
    };

/** A limit, and the moment from which on it is exceeded. */
interface Limit {
  readonly dueMs: number;
  readonly verdict: Extract<EndVerdict, { kind: "end" }>;
}

export function endOf(snapshot: EndSnapshot, now: number): EndVerdict {
  const limits = limitsOf(snapshot);
  // Of several that are over, the one that was over first is why it ends.
  const first = limits.toSorted((left, right) => left.dueMs - right.dueMs)[0];
  if (first === undefined) return { kind: "lives" };
  return now >= first.dueMs ? first.verdict : { kind: "lives", recheckAtMs: first.dueMs };
}

function limitsOf(snapshot: EndSnapshot): readonly Limit[] {
  const { pod } = snapshot;
  if (pod.metadata.deletionTimestamp !== undefined) return [];
  const phase = sandboxPhaseOf(pod);
  if (phase === "starting") return startupLimit(snapshot, snapshot.claimSeenMs ?? enteredAt(pod), "the sandbox did not start");
  if (phase !== "running" || pauseWish(pod) !== undefined || isFrozen(pod)) return [];
  // Claimed on the fast path by a process that died before it armed the sandbox: its client never got an answer.
  const unarmed =
    snapshot.isArmed === false ? startupLimit(snapshot, snapshot.claimSeenMs ?? claimedAt(pod), "the sandbox was not armed") : [];
  return [...unarmed, ...hooksLimit(snapshot), ...endTimeLimit(pod), ...idleLimit(snapshot)];
}

/** How long there may be no API process that could take over, or only ones that have just started. */
const noProcessMs = 300_000;

/** Armed by a process that died before it had run the hooks. Another process may run those that are written on the pod (ADR 70). */
function hooksLimit(snapshot: EndSnapshot): readonly Limit[] {
  const mark = hooksMarkOf(snapshot.pod);
  const dueMs = armingDueMs(snapshot);
  if (mark === undefined || dueMs === undefined) return [];
  const failureMessage = "the process that made the sandbox ended before its post-start hooks had run";
  const verdict = { kind: "end", action: "kill", stopReason: "Failed", failureReason: failureReasons.hookFailed, failureMessage } as const;
  // Another process waits as long as the first one might take, and then may take as long itself.
  const takeOverMs = mark.sealed === undefined ? 0 : noProcessMs + 2 * ((startupTimeoutOf(snapshot) ?? 0) + hooksGraceMs);
  return [{ dueMs: dueMs + hooksGraceMs + takeOverMs, verdict }];
}

/** Time after which a running but unarmed sandbox has failed; before that, its create may still arm it. Undefined: no limit is known. */
export function armingDueMs(snapshot: Pick<EndSnapshot, "pod" | "claimSeenMs" | "defaultStartupTimeoutMs">): number | undefined {
  const timeout = startupTimeoutOf(snapshot);
  const since = snapshot.claimSeenMs ?? claimedAt(snapshot.pod);
  return timeout === undefined || since === undefined ? undefined : since + timeout;
}

function startupTimeoutOf({ pod, defaultStartupTimeoutMs }: Pick<EndSnapshot, "pod" | "defaultStartupTimeoutMs">): number | undefined {
  return parseSeconds(pod.metadata.annotations?.[annotationKeys.startupTimeout]) ?? defaultStartupTimeoutMs;
}

function startupLimit(snapshot: EndSnapshot, since: number | undefined, what: string): readonly Limit[] {
  const timeout = startupTimeoutOf(snapshot);
  if (timeout === undefined || since === undefined) return [];
  const failureMessage = `${what} within ${timeout / 1000} s`;
  const verdict = {
    kind: "end",
    action: "kill",
    stopReason: "Failed",
    failureReason: failureReasons.startupTimeout,
    failureMessage,
  } as const;
  return [{ dueMs: since + timeout, verdict }];
}

function endTimeLimit(pod: Pod): readonly Limit[] {
  const endTime = parseTime(pod.metadata.annotations?.[annotationKeys.endTime]);
  if (endTime === undefined) return [];
  const failureMessage = `the sandbox's end time ${new Date(endTime).toISOString()} was reached`;
  return [{ dueMs: endTime, verdict: released(pod, failureReasons.maxLifetime, failureMessage) }];
}

function idleLimit({ pod, activity, refreshIntervalMs }: EndSnapshot): readonly Limit[] {
  const timeout = parseSeconds(pod.metadata.annotations?.[annotationKeys.idleTimeout]);
  if (timeout === undefined || timeout === 0 || activity.kind === "unknown" || activity.inUse) return [];
  const seen = [activity.lastActiveMs, parseTime(pod.metadata.annotations?.[annotationKeys.lastActive]), enteredAt(pod), claimedAt(pod)];
  const known = seen.filter((time) => time !== undefined);
  if (known.length === 0) return [];
  const failureMessage = `the sandbox had no traffic for ${timeout / 1000} s`;
  return [{ dueMs: Math.max(...known) + timeout + refreshIntervalMs, verdict: released(pod, failureReasons.idleTimeout, failureMessage) }];
}

function released(pod: Pod, failureReason: string, failureMessage: string): Limit["verdict"] {
  const wanted = pod.metadata.annotations?.[annotationKeys.onTimeout];
  const action = timeoutActions.find((one) => one === wanted) ?? "kill";
  return { kind: "end", action, stopReason: "Released", failureReason, failureMessage };
}

/** Since when it is starting or running. A state that cannot be read leaves the time of the claim. */
function enteredAt(pod: Pod): number | undefined {
  const since = phaseSince(pod);
  return since.kind === "in-phase" ? since.sinceMs : claimedAt(pod);
}

function claimedAt(pod: Pod): number | undefined {
  return parseTime(pod.metadata.annotations?.[annotationKeys.claimedAt]);
}
