/**
 * Which log of a pod is that of the sandbox that has just ended on it. Only if the container proves it: an older log of the same pod belongs to
 * another tenant (I2). The end has written which container the sandbox had.
 */
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";

export interface KeptLog {
  readonly container: string;
  /** The container was exchanged since: it is the log of the one before. */
  readonly previous: boolean;
}

export function planKeptLog(pod: Pod): KeptLog | undefined {
  const { annotations = {} } = pod.metadata;
  const container = pod.spec.containers[0]?.name;
  if (container === undefined || sandboxIdOf(pod) === undefined || annotations[annotationKeys.startedAt] === undefined) return undefined;
  const now = pod.status?.containerStatuses?.find(({ name }) => name === container)?.containerID;
  const had = annotations[annotationKeys.containerId];
  if (now === undefined) return undefined;
  // A pod that goes without an end, such as an evicted one, was never exchanged after this sandbox.
  if (had === undefined) return sandboxPhaseOf(pod) === "stopping" ? undefined : { container, previous: false };
  return { container, previous: now !== had };
}
