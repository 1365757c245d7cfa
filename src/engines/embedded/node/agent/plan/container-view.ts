/** Where each container of a pod stands: what the machine shows, completed by what the status remembers of it. */
import type { ContainerState, ContainerStatus } from "#model/pod.ts";
import type { LostEnd } from "../../node-life.ts";
import type { ContainerStateOnNode } from "../../pod-runtime.ts";
import { containerHash, containerReference } from "../container/identity.ts";
import type { StoredContainer } from "#engines/embedded/stored-pod.ts";
import type { NodePod } from "../node-pod.ts";
import type { Observed, PodMemoryView, StartFailure } from "./observed.ts";

export interface ContainerView {
  readonly spec: StoredContainer;
  readonly isInit: boolean;
  readonly hash: string;
  readonly stored: ContainerStatus | undefined;
  readonly situation: Situation;
  readonly nextAttempt: number;
  /** The highest attempt that there has been; 0 as long as there was none. */
  readonly restartCount: number;
  /** Attempts on the machine that newer ones have replaced. */
  readonly older: readonly ContainerStateOnNode[];
  /** How the last of these ended. */
  readonly olderEnd: Ended | undefined;
}

export type Situation =
  | { readonly kind: "never" }
  | { readonly kind: "created"; readonly container: ContainerStateOnNode }
  | { readonly kind: "running"; readonly container: ContainerStateOnNode }
  /** `container` is absent when only the status remembers it. */
  | { readonly kind: "ended"; readonly end: Ended; readonly container?: ContainerStateOnNode };

export interface Ended {
  readonly id: string;
  readonly code: number;
  readonly signal?: number | undefined;
  readonly reason: string;
  readonly message?: string | undefined;
  readonly startedAt?: number | undefined;
  readonly finishedAt?: number | undefined;
}

export function viewContainers(pod: NodePod, observed: Observed): readonly ContainerView[] {
  const { spec, status } = pod;
  const view = (isInit: boolean, stored: readonly ContainerStatus[]) => (container: StoredContainer) =>
    viewContainer({ spec: container, isInit, stored: stored.find(({ name }) => name === container.name) }, observed);
  return [
    ...(spec.initContainers ?? []).map(view(true, status.initContainerStatuses ?? [])),
    ...spec.containers.map(view(false, status.containerStatuses ?? [])),
  ];
}

type Named = Pick<ContainerView, "spec" | "isInit" | "stored">;

function viewContainer(named: Named, { runtime, memory, node: { lost } }: Observed): ContainerView {
  const { spec, stored } = named;
  const { newest, older } = attemptsOf(spec.name, runtime?.containers ?? [], stored);
  const situation = newest === undefined ? remembered(stored, lost) : situationOf(newest, stored, memory);
  const restartCount = Math.max(stored?.restartCount ?? 0, newest?.attempt ?? 0);
  return {
    ...named,
    hash: containerHash(spec),
    situation,
    restartCount,
    nextAttempt: situation.kind === "never" ? 0 : restartCount + 1,
    older,
    olderEnd: older[0] && endOfOlder(older[0], stored, memory),
  };
}

interface Attempts {
  readonly newest: ContainerStateOnNode | undefined;
  /** The latest of them first. */
  readonly older: readonly ContainerStateOnNode[];
}

function attemptsOf(name: string, containers: readonly ContainerStateOnNode[], stored: ContainerStatus | undefined): Attempts {
  const [first, ...others] = containers.filter((container) => container.name === name).sort((a, b) => b.attempt - a.attempt);
  if (first === undefined) return { newest: undefined, older: [] };
  // An attempt that the status knows and the machine does not was lost; what is left of earlier ones says nothing about it.
  const isLost = first.attempt < (stored?.restartCount ?? 0);
  return isLost ? { newest: undefined, older: [first, ...others] } : { newest: first, older: others };
}

function endOfOlder(container: ContainerStateOnNode, stored: ContainerStatus | undefined, memory: PodMemoryView): Ended | undefined {
  const situation = situationOf(container, stored, memory);
  return situation.kind === "ended" ? situation.end : undefined;
}

function situationOf(container: ContainerStateOnNode, stored: ContainerStatus | undefined, memory: PodMemoryView): Situation {
  const { id, state } = container;
  if (state === "running") return { kind: "running", container };
  if (state === "exited") return { kind: "ended", end: { message: memory.lastWords.get(id), ...endOf(container) }, container };
  const failure = startFailure(container, stored, memory.startFailures.get(id));
  if (failure === undefined) return { kind: "created", container };
  return { kind: "ended", end: { id, code: 128, reason: "StartError", message: failure.message, finishedAt: failure.at }, container };
}

function endOf({ id, exit, startedAt }: ContainerStateOnNode): Ended {
  if (exit === undefined) return unknownEnd(id, startedAt);
  const { code, signal, oomKilled, finishedAt } = exit;
  const reason = oomKilled ? "OOMKilled" : code === 0 ? "Completed" : "Error";
  return { id, code, signal, reason, startedAt, finishedAt };
}

function unknownEnd(id: string, startedAt: number | undefined, lost?: LostEnd): Ended {
  // What was started after that end, ended otherwise.
  if (lost !== undefined && startedAt !== undefined && startedAt <= lost.until) {
    return { id, code: 137, reason: lost.reason, message: lost.message, startedAt, finishedAt: Math.max(startedAt, lost.at) };
  }
  return {
    id,
    code: 137,
    startedAt,
    reason: "ContainerStatusUnknown",
    message: "the container is no longer on this machine, and its exit was not recorded",
  };
}

/** A start that failed is in the status even if the agent that tried it has forgotten: it is not tried again under the same number. */
function startFailure(
  { id }: ContainerStateOnNode,
  stored: ContainerStatus | undefined,
  remembers: StartFailure | undefined,
): StartFailure | undefined {
  if (remembers !== undefined) return remembers;
  const end = [stored?.state, stored?.lastState].map((state) => endInState(state)).find((one) => one?.id === id);
  return end === undefined ? undefined : { message: end.message ?? "", at: end.finishedAt ?? 0 };
}

/** What the status alone says. */
export function remembered(stored: ContainerStatus | undefined, lost: LostEnd | undefined): Situation {
  if (stored?.state?.running !== undefined) {
    return { kind: "ended", end: unknownEnd(idOf(stored.containerID), time(stored.state.running.startedAt), lost) };
  }
  const end = endInState(stored?.state) ?? endInState(stored?.lastState);
  return end === undefined ? { kind: "never" } : { kind: "ended", end };
}

function endInState(state: ContainerState | undefined): Ended | undefined {
  const terminated = state?.terminated;
  if (terminated === undefined) return undefined;
  const { exitCode, signal, reason = "", message, startedAt, finishedAt, containerID } = terminated;
  return { id: idOf(containerID), code: exitCode, signal, reason, message, startedAt: time(startedAt), finishedAt: time(finishedAt) };
}

function idOf(reference: string | undefined): string {
  return reference?.replace(/^[a-z]+:\/\//, "") ?? "";
}

/** Unknown times are null in a status. */
function time(text: string | null | undefined): number | undefined {
  return text === undefined || text === null ? undefined : Date.parse(text);
}

/** True when the status speaks of this very container. */
export function isRecorded(stored: ContainerStatus | undefined, id: string): boolean {
  return stored?.containerID === containerReference(id);
}
