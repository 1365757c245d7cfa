/** The status of a pod in one word, as an API server prints it. */
import type { ContainerStatus, Pod } from "#model/pod.ts";

export interface PodSummary {
  readonly reason: string;
  readonly ready: number;
  readonly total: number;
  readonly restarts: number;
  readonly lastRestart: string | undefined;
}

/** Counts of the containers; sidecars are init containers that keep running beside the others. */
interface Tally {
  readonly ready: number;
  readonly restarts: number;
  readonly lastRestart: string | undefined;
}

export function podSummary(pod: Pod): PodSummary {
  const sidecars = new Set(
    (pod.spec.initContainers ?? []).filter((container) => container.restartPolicy === "Always").map(({ name }) => name),
  );
  const total = pod.spec.containers.length + sidecars.size;
  const starting = initPhase(pod, sidecars);
  if (starting.reason !== undefined && !hasCondition(pod, "Initialized")) {
    return { ...starting.tally, reason: closing(pod, starting.reason), total };
  }
  const { reason, tally } = mainPhase(pod, starting.reason ?? baseReason(pod), starting.sidecars);
  return { ...tally, reason: closing(pod, reason), total };
}

function baseReason(pod: Pod): string {
  const gated = pod.status?.conditions?.some(({ type, reason }) => type === "PodScheduled" && reason === "SchedulingGated");
  return gated === true ? "SchedulingGated" : pod.status?.reason || pod.status?.phase || "";
}

/** The first unfinished init container decides; `reason` is undefined if all have finished. */
function initPhase(pod: Pod, sidecars: ReadonlySet<string>): { reason: string | undefined; tally: Tally; sidecars: Tally } {
  const statuses = pod.status?.initContainerStatuses ?? [];
  let ready = 0;
  for (const [index, status] of statuses.entries()) {
    const seen = statuses.slice(0, index + 1);
    if (status.state?.terminated?.exitCode === 0) continue;
    if (sidecars.has(status.name) && status.started === true) {
      if (status.ready) ready++;
      continue;
    }
    const reason = initReason(status, index, pod.spec.initContainers?.length ?? 0);
    return { reason, tally: { ...tallyOf(seen), ready }, sidecars: { ...tallyOf(seen.filter(({ name }) => sidecars.has(name))), ready } };
  }
  const running = tallyOf(statuses.filter(({ name }) => sidecars.has(name)));
  return { reason: undefined, tally: { ...tallyOf(statuses), ready }, sidecars: { ...running, ready } };
}

function initReason({ state }: ContainerStatus, index: number, count: number): string {
  if (state?.terminated !== undefined) return `Init:${exitText(state.terminated)}`;
  const waiting = state?.waiting?.reason ?? "";
  return waiting !== "" && waiting !== "PodInitializing" ? `Init:${waiting}` : `Init:${index}/${count}`;
}

function mainPhase(pod: Pod, reason: string, sidecars: Tally): { reason: string; tally: Tally } {
  const statuses = pod.status?.containerStatuses ?? [];
  const running = statuses.filter(({ ready, state }) => ready && state?.running !== undefined && !(state.waiting?.reason ?? ""));
  const tally = tallyOf(statuses);
  const sum = {
    ready: sidecars.ready + running.length,
    restarts: sidecars.restarts + tally.restarts,
    lastRestart: later(sidecars.lastRestart, tally.lastRestart),
  };
  const word = statuses.map(containerReason).find((found) => found !== undefined) ?? reason;
  return { reason: word === "Completed" ? completedReason(pod, running.length > 0) : word, tally: sum };
}

/** Some containers have finished; the others decide. */
function completedReason(pod: Pod, someRun: boolean): string {
  if (someRun && hasCondition(pod, "Ready")) return "Running";
  const failed = (pod.status?.containerStatuses ?? []).filter(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  const error = failed.map(containerReason).find((found) => found !== undefined);
  return error ?? (someRun ? "NotReady" : "Completed");
}

function containerReason({ state }: ContainerStatus): string | undefined {
  const waiting = state?.waiting?.reason ?? "";
  if (waiting !== "") return waiting;
  return state?.terminated === undefined ? undefined : exitText(state.terminated);
}

function exitText({ reason, signal, exitCode }: { reason?: string; signal?: number; exitCode: number }): string {
  if (reason !== undefined && reason !== "") return reason;
  return signal === undefined || signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`;
}

function closing(pod: Pod, reason: string): string {
  if (pod.metadata.deletionTimestamp === undefined) return reason;
  if (pod.status?.reason === "NodeLost") return "Unknown";
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed" ? reason : "Terminating";
}

function tallyOf(statuses: readonly ContainerStatus[]): Tally {
  return {
    ready: 0,
    restarts: statuses.reduce((sum, { restartCount }) => sum + restartCount, 0),
    lastRestart: statuses.map(({ lastState }) => lastState?.terminated?.finishedAt ?? undefined).reduce(later, undefined),
  };
}

function later(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Date.parse(a) >= Date.parse(b) ? a : b;
}

function hasCondition(pod: Pod, wanted: string): boolean {
  return pod.status?.conditions?.find(({ type }) => type === wanted)?.status === "True";
}
