/** Decides if it is time to end a sandbox. `sandbox/end.ts` has the rule; this file collects what the rule needs, as late as possible. */
import { podCondition, poolOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { parseDuration } from "#model/duration.ts";
import { annotationKeys, failureReasons } from "#model/keys.ts";
import { isFrozen, pauseWish } from "#model/pause.ts";
import type { Pod } from "#model/pod.ts";
import { parseSeconds } from "#sandbox/annotation-values.ts";
import { type Activity, armingDueMs, endOf, type EndSnapshot, type EndVerdict } from "#sandbox/end.ts";
import { statusDetailFromPod } from "#sandbox/health/diagnosis.ts";
import { completionOf } from "#sandbox/images/inplace-completion.ts";
import type { Arming } from "./arming-watch.ts";
import type { TimeoutDeps } from "./timeout-deps.ts";

/** The most quiet that a sandbox can have been: what is not due by this is not due. */
const quiet: Activity = { kind: "known", inUse: false };

export async function endVerdict(deps: TimeoutDeps, pod: Pod, signal: AbortSignal): Promise<EndVerdict> {
  const snapshot = snapshotOf(deps, pod);
  return sandboxPhaseOf(pod) === "starting" ? startVerdict(deps, snapshot, signal) : runVerdict(deps, snapshot, signal);
}

function snapshotOf({ cache, limits, sight, clock }: TimeoutDeps, pod: Pod): EndSnapshot {
  const pool = cache.pools.objects.get({ namespace: pod.metadata.namespace, name: poolOf(pod) ?? "" });
  const defaultStartupTimeoutMs = durationOf(pool?.spec.defaultStartupTimeout) ?? limits.startupTimeoutMs;
  const ageMs = sight?.ageOf(pod);
  const seen = ageMs === undefined ? {} : { claimSeenMs: clock.now() - ageMs };
  return { pod, activity: quiet, defaultStartupTimeoutMs, refreshIntervalMs: limits.refreshIntervalMs, ...seen };
}

function durationOf(text: string | undefined): number | undefined {
  try {
    return text === undefined ? undefined : parseDuration(text);
  } catch {
    return undefined;
  }
}

/**
 * The creating process asks the new container directly, so a sandbox may be armed and its create answered before the node has reported that container. A
 * sandbox whose daemon confirms the arming stays (I11); one whose daemon does not answer several times has not started.
 */
async function startVerdict({ arming, clock, limits }: TimeoutDeps, snapshot: EndSnapshot, signal: AbortSignal): Promise<EndVerdict> {
  const verdict = endOf(snapshot, clock.now());
  if (verdict.kind === "lives") return verdict;
  const answer = await arming.ask(snapshot.pod, signal);
  if (answer.kind === "armed") return { kind: "lives", recheckAtMs: clock.now() + limits.refreshIntervalMs };
  // The node says that it has started, and only this process cannot reach it, or came late: the sandbox has not failed.
  if (answer.kind === "silent" && completionOf(snapshot.pod).kind === "completed") return { kind: "lives", recheckAtMs: answer.askAtMs };
  return answer.kind === "silent" ? silentVerdict(snapshot.pod, answer, { verdict, now: clock.now() }) : verdict;
}

/** One answer that was lost on its way is no reason to end what may have been armed; a node that says what is wrong is. */
const askedAgainForMs = 15_000;

function silentVerdict(
  pod: Pod,
  { sinceMs, askAtMs }: Extract<Arming, { kind: "silent" }>,
  { verdict, now }: { readonly verdict: EndVerdict; readonly now: number },
): EndVerdict {
  const untilMs = sinceMs + askedAgainForMs;
  if (statusDetailFromPod(pod) !== undefined || now >= untilMs) return verdict;
  return { kind: "lives", recheckAtMs: Math.min(askAtMs, untilMs) };
}

async function runVerdict(deps: TimeoutDeps, snapshot: EndSnapshot, signal: AbortSignal): Promise<EndVerdict> {
  const { pod } = snapshot;
  // What is frozen cannot answer, and no clock runs for it.
  if (pauseWish(pod) !== undefined || isFrozen(pod)) return { kind: "lives" };
  const [dueMs, toldMs] = [armingDueMs(snapshot), armingDueMs({ ...snapshot, claimSeenMs: undefined })];
  const due = dueMs === undefined || toldMs === undefined ? undefined : { dueMs, toldMs };
  const arming: Arming = due === undefined ? { kind: "armed" } : await deps.arming.check(pod, due, signal);
  const isUnarmed = arming.kind === "not-armed" || isSilentForGood(deps, pod, arming);
  const known: EndSnapshot = isUnarmed ? { ...snapshot, isArmed: false } : snapshot;
  return earlier(await activeVerdict(deps, known), "askAtMs" in arming ? arming.askAtMs : undefined);
}

function isSilentForGood({ clock, limits }: TimeoutDeps, pod: Pod, arming: Arming): boolean {
  if (arming.kind !== "silent" || podCondition(pod, "Ready")?.status === "True") return false;
  return clock.now() - arming.sinceMs >= limits.daemonSilenceMs;
}

/** Sources of traffic are asked only if the decision depends on them. */
async function activeVerdict({ clock, lastActive, limits }: TimeoutDeps, snapshot: EndSnapshot): Promise<EndVerdict> {
  const quietVerdict = endOf(snapshot, clock.now());
  if (quietVerdict.kind === "lives" || quietVerdict.failureReason !== failureReasons.idleTimeout) return quietVerdict;
  const activity = await lastActive.activityOf(snapshot.pod);
  const now = clock.now();
  const verdict = endOf({ ...snapshot, activity }, now);
  if (activity.kind === "unknown") return earlier(verdict, now + limits.refreshIntervalMs);
  // In use now: idle for its whole timeout at the earliest then.
  const timeout = parseSeconds(snapshot.pod.metadata.annotations?.[annotationKeys.idleTimeout]) ?? 0;
  return activity.inUse ? earlier(verdict, now + timeout + limits.refreshIntervalMs) : verdict;
}

function earlier(verdict: EndVerdict, atMs: number | undefined): EndVerdict {
  if (verdict.kind === "end" || atMs === undefined) return verdict;
  return { kind: "lives", recheckAtMs: Math.min(verdict.recheckAtMs ?? Infinity, atMs) };
}
