/**
 * Why a pod is stuck, for people: read from the pod alone, so that lists can have it too. `diagnosis-events.ts` adds what its node and
 * the scheduler reported.
 *
 * The first of these that holds is given:
 * 1. the pod has ended: Evicted, OOMKilled, PodFailed
 * 2. no node takes it: Unschedulable
 * 3. a container cannot start: what its node says, such as ErrImagePull, ImagePullBackOff, CreateContainerError, InvalidImageName;
 *    a crash loop is called OOMKilled when that is why it crashes, else CrashLoopBackOff
 * 4. a container has ended and is not back: OOMKilled, or what it said
 * 5. a container is on its way: Pulling
 * Init containers go before the others, because these wait for them; among equals the first one speaks.
 */
import { podCondition, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { diagnosisReasons } from "#model/keys.ts";
import type { ContainerStatus, Pod } from "#model/pod.ts";
import { deathOf } from "./death.ts";
import { readInplaceUpdateState } from "#sandbox/images/inplace-state.ts";

export interface PodStatusDetail {
  readonly podName: string;
  /** The sandbox phase, or empty. */
  readonly phase: string;
  /** One word for programs. */
  readonly reason: string;
  readonly message: string;
  /** Warnings about the pod, newest first. Only if they were read. */
  readonly events?: readonly PodDiagnosticEvent[];
}

export interface PodDiagnosticEvent {
  readonly reason: string;
  readonly message: string;
  /** RFC 3339. */
  readonly lastTimestamp: string;
  readonly count: number;
}

interface Finding {
  readonly reason: string;
  readonly message: string;
}

/** What a container says while all goes well. */
const onTheWay: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing", ""]);

/** Undefined when there is nothing to say. */
export function statusDetailFromPod(pod: Pod): PodStatusDetail | undefined {
  const finding = findingOf(pod);
  return finding === undefined ? undefined : { ...detailHead(pod), ...finding };
}

export function detailHead(pod: Pod): Pick<PodStatusDetail, "podName" | "phase"> {
  return { podName: pod.metadata.name ?? "", phase: sandboxPhaseOf(pod) ?? "" };
}

function findingOf(pod: Pod): Finding | undefined {
  const containers = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  return (
    ended(pod) ??
    unschedulable(pod) ??
    first(containers, cannotStart) ??
    first(containers, (status) => notBack(pod, status)) ??
    first(containers, (status) => onItsWay(pod, status))
  );
}

/** A pod that is merely being deleted is not stuck. */
function ended(pod: Pod): Finding | undefined {
  const death = pod.status?.phase === "Failed" ? deathOf(pod) : undefined;
  if (death === undefined) return undefined;
  const { evicted, oomKilled, podFailed } = diagnosisReasons;
  const reason = [evicted, oomKilled].find((known) => known === death.failureReason) ?? podFailed;
  return { reason, message: death.failureMessage };
}

function unschedulable(pod: Pod): Finding | undefined {
  const condition = podCondition(pod, "PodScheduled");
  if (condition?.status !== "False") return undefined;
  return { reason: diagnosisReasons.unschedulable, message: condition.message ?? "no node takes the pod" };
}

function cannotStart({ name, state, lastState }: ContainerStatus): Finding | undefined {
  const { reason = "", message } = state?.waiting ?? {};
  if (onTheWay.has(reason)) return undefined;
  const said = `container ${name} cannot start: ${message ?? reason}`;
  const crash = lastState?.terminated;
  if (reason !== diagnosisReasons.crashLoopBackOff || crash === undefined) return { reason, message: said };
  return {
    reason: crash.reason === diagnosisReasons.oomKilled ? diagnosisReasons.oomKilled : reason,
    message: `${said}; it ended with exit code ${crash.exitCode} (${crash.reason ?? "no reason given"})`,
  };
}

/** An init container that has ended well has done its work, and one that is exchanged has ended because it should. */
function notBack(pod: Pod, status: ContainerStatus): Finding | undefined {
  const { terminated } = status.state ?? {};
  const isInit = (pod.spec.initContainers ?? []).some(({ name }) => name === status.name);
  if (terminated === undefined || (isInit && terminated.exitCode === 0) || isBeingExchanged(pod, status)) return undefined;
  const reason = terminated.reason ?? diagnosisReasons.podFailed;
  const said = terminated.message === undefined ? "" : `: ${terminated.message}`;
  return { reason, message: `container ${status.name} ended with exit code ${terminated.exitCode}${said}` };
}

/** Nodes do not say in a pod whether they pull or create; while a sandbox starts, pulling is what takes long. */
function onItsWay(pod: Pod, status: ContainerStatus): Finding | undefined {
  const { waiting, terminated } = status.state ?? {};
  if (waiting === undefined && (terminated === undefined || !isBeingExchanged(pod, status))) return undefined;
  const image = pod.spec.containers.find(({ name }) => name === status.name)?.image ?? status.image;
  return { reason: diagnosisReasons.pulling, message: `container ${status.name} is being made from ${image}` };
}

/** True while the node still reports the container that is to go. */
function isBeingExchanged(pod: Pod, { name, containerID }: ContainerStatus): boolean {
  const read = readInplaceUpdateState(pod);
  if (read.kind !== "state" || read.state.phase === "completed") return false;
  const before = read.state.lastContainerStatuses?.[name]?.containerID;
  return before !== undefined && before === containerID;
}

function first(containers: readonly ContainerStatus[], find: (container: ContainerStatus) => Finding | undefined): Finding | undefined {
  for (const container of containers) {
    const finding = find(container);
    if (finding !== undefined) return finding;
  }
  return undefined;
}
