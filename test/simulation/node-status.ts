/** What a node writes of a pod. */
import type { ContainerState, ContainerStatus, PodStatus } from "#model/pod.ts";
import { kubernetesTime } from "#lib/clock.ts";
import type { PodOnNode } from "./container.ts";

export function podStatus(pod: PodOnNode, now: number): PodStatus {
  if (pod.failed !== undefined) {
    return { phase: "Failed", ...pod.failed, conditions: [readiness(false)], containerStatuses: [containerStatus(pod, now)] };
  }
  return {
    phase: pod.container === undefined && pod.lastEnd === undefined ? "Pending" : "Running",
    podIP: pod.ip,
    conditions: [readiness(isReady(pod))],
    containerStatuses: [containerStatus(pod, now)],
  };
}

function isReady({ container, isReadyTold }: PodOnNode): boolean {
  return container !== undefined && isReadyTold;
}

function readiness(ready: boolean): { readonly type: string; readonly status: "True" | "False" } {
  return { type: "Ready", status: ready ? "True" : "False" };
}

function containerStatus(pod: PodOnNode, now: number): ContainerStatus {
  const { container, lastEnd, containerName, restartCount } = pod;
  const image = container?.image ?? pod.wantedImage;
  return {
    name: containerName,
    image,
    // As containerd reports it: the name and the digest, without any tag.
    imageID: container === undefined ? "" : image.replace(/:[^:@/]*@/, "@"),
    containerID: container?.id ?? lastEnd?.containerId ?? "",
    ready: isReady(pod),
    started: container !== undefined,
    // Written later than the container that it counts.
    restartCount: isReady(pod) ? restartCount : Math.max(0, restartCount - 1),
    state: stateOf(pod, now),
    ...(lastEnd === undefined ? {} : { lastState: { terminated: terminated(pod, now) } }),
  };
}

function stateOf(pod: PodOnNode, now: number): ContainerState {
  const { container, failed, waiting } = pod;
  if (container !== undefined) return { running: { startedAt: kubernetesTime(container.startedAtMs) } };
  return failed === undefined ? { waiting: { reason: waiting ?? "ContainerCreating" } } : { terminated: terminated(pod, now) };
}

function terminated({ lastEnd }: PodOnNode, now: number): NonNullable<ContainerState["terminated"]> {
  return {
    exitCode: lastEnd?.exitCode ?? 0,
    reason: lastEnd?.reason ?? "Completed",
    finishedAt: kubernetesTime(lastEnd?.atMs ?? now),
    ...(lastEnd === undefined ? {} : { containerID: lastEnd.containerId }),
  };
}
