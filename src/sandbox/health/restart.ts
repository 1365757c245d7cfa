/**
 * A container that was replaced without a request: it crashed or ran out of memory, and the node started another. Its content is lost, so the sandbox has
 * failed.
 *
 * Only the container id proves it. Nodes report id, restart count and readiness in separate writes, so a count may be late; the id is written once, with
 * the container.
 */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { failureReasons } from "#model/keys.ts";
import type { ContainerStatus, Pod } from "#model/pod.ts";
import { parseTime } from "#sandbox/annotation-values.ts";
import type { Failure } from "./death.ts";
import { readInplaceUpdateState, type StableContainerStatus } from "#sandbox/images/inplace-state.ts";

/** The failure is what the node says of the container that is gone: OOMKilled, Error, … */
export interface UnexpectedRestart extends Failure {
  readonly container: string;
  /** When the container that is gone ended, if the node knows. */
  readonly endedAtMs?: number;
}

/**
 * The running containers to remember while the sandbox is running: the first container, which is the sandbox, and those exchanged for it. Side containers
 * of the pool may restart without harm.
 */
export function stableContainerStatuses(pod: Pod, exchanged: readonly string[]): Readonly<Record<string, StableContainerStatus>> {
  const first = pod.spec.containers[0]?.name;
  const statuses = (pod.status?.containerStatuses ?? []).filter(({ name }) => name === first || exchanged.includes(name));
  return Object.fromEntries(statuses.map((status) => [status.name, stableStatus(status)]));
}

/** Undefined while every container is the one that the sandbox started with, or if that is unknown. */
export function unexpectedRestart(pod: Pod): UnexpectedRestart | undefined {
  if (sandboxPhaseOf(pod) !== "running") return undefined;
  const read = readInplaceUpdateState(pod);
  if (read.kind !== "state" || read.state.phase !== "completed") return undefined;
  const stable = read.state.stableContainerStatuses ?? {};
  const replaced = (pod.status?.containerStatuses ?? []).find((status) => isOther(status, own(stable, status.name)?.containerID));
  return replaced === undefined ? undefined : describe(replaced, own(stable, replaced.name)?.containerID);
}

function isOther({ containerID }: ContainerStatus, stable: string | undefined): boolean {
  if (stable === undefined || stable === "" || containerID === undefined || containerID === "") return false;
  return containerID !== stable;
}

/** The last state is that of the container that is gone, unless it has restarted more than once meanwhile. */
function describe({ name, lastState }: ContainerStatus, gone: string | undefined): UnexpectedRestart {
  const { terminated } = lastState ?? {};
  const failureReason = terminated?.reason ?? failureReasons.containerRestarted;
  const exit = terminated === undefined ? "" : ` with exit code ${terminated.exitCode}`;
  const said = terminated?.message === undefined ? "" : `: ${terminated.message}`;
  const failureMessage = `container ${name} (${gone ?? ""}) ended${exit} (${failureReason}) and was started anew${said}`;
  return {
    container: name,
    failureReason,
    failureMessage,
    ...withoutUndefined({ exitCode: terminated?.exitCode, endedAtMs: parseTime(terminated?.finishedAt) }),
  };
}

function stableStatus({ containerID, restartCount }: ContainerStatus): StableContainerStatus {
  return { ...(containerID === undefined || containerID === "" ? {} : { containerID }), restartCount };
}

function own<Value>(map: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}
