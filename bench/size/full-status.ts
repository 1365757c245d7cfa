/** The status of a pod as a kubelet of today writes it, to the last field: what caches hold is measured, and must not be less than real. */
import type { JsonObject } from "#model/meta.ts";
import type { ContainerStatus, Pod } from "#model/pod.ts";

const since = "2026-01-01T00:00:00Z";
const steps = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];

export function fullStatus(pod: Pod, ip: string): JsonObject {
  const hostIP = "192.0.2.7";
  return {
    phase: "Running",
    observedGeneration: 1,
    conditions: steps.map((type) => ({ type, status: "True", observedGeneration: 1, lastProbeTime: null, lastTransitionTime: since })),
    hostIP,
    hostIPs: [{ ip: hostIP }],
    podIP: ip,
    podIPs: [{ ip }],
    startTime: since,
    qosClass: "Burstable",
  };
}

export function fullContainerStatus({ spec }: Pod, status: ContainerStatus): JsonObject {
  const { resources = {}, volumeMounts = [] } = spec.containers.find(({ name }) => name === status.name) ?? {};
  const id = `${status.restartCount}`.padStart(64, "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef");
  return {
    ...status,
    containerID: `containerd://${id}`,
    lastState: {},
    resources,
    allocatedResources: { ...resources.requests },
    volumeMounts: volumeMounts.map(({ name, mountPath }) => ({ name, mountPath, readOnly: true, recursiveReadOnly: "Disabled" })),
    user: { linux: { uid: 0, gid: 0, supplementalGroups: [0] } },
  } as unknown as JsonObject;
}
