import { resourceRequirements } from "./pod-container-shape.ts";
import { always, listOf, mapOf, shape } from "./shape.ts";

const containerState = shape("ContainerState", {
  waiting: shape("ContainerStateWaiting", { reason: "string", message: "string" }),
  running: shape("ContainerStateRunning", { startedAt: "time!" }),
  terminated: shape("ContainerStateTerminated", {
    exitCode: "int32!",
    signal: "int32",
    reason: "string",
    message: "string",
    startedAt: "time!",
    finishedAt: "time!",
    containerID: "string",
  }),
});

const containerStatus = shape("ContainerStatus", {
  name: "string!",
  state: always(containerState),
  lastState: always(containerState),
  ready: "bool!",
  restartCount: "int32!",
  image: "string!",
  imageID: "string!",
  containerID: "string",
  started: "bool?",
  allocatedResources: mapOf("quantity"),
  resources: resourceRequirements,
  volumeMounts: listOf(
    shape("VolumeMountStatus", {
      name: "string!",
      mountPath: "string!",
      readOnly: "bool",
      recursiveReadOnly: "string?",
      volumeStatus: "any",
    }),
  ),
  user: "any",
  allocatedResourcesStatus: listOf("any"),
  stopSignal: "string?",
});

const podCondition = shape("PodCondition", {
  type: "string!",
  observedGeneration: "int64",
  status: "string!",
  lastProbeTime: "time!",
  lastTransitionTime: "time!",
  reason: "string",
  message: "string",
});

export const podStatus = shape("PodStatus", {
  observedGeneration: "int64",
  phase: "string",
  conditions: listOf(podCondition),
  message: "string",
  reason: "string",
  nominatedNodeName: "string",
  hostIP: "string",
  hostIPs: listOf(shape("HostIP", { ip: "string!" })),
  podIP: "string",
  podIPs: listOf(shape("PodIP", { ip: "string!" })),
  startTime: "time?",
  initContainerStatuses: listOf(containerStatus),
  containerStatuses: listOf(containerStatus),
  qosClass: "string",
  ephemeralContainerStatuses: listOf(containerStatus),
  resize: "string",
  resourceClaimStatuses: listOf("any"),
  extendedResourceClaimStatus: "any",
  allocatedResources: mapOf("quantity"),
  resources: resourceRequirements,
  nodeAllocatableResourceClaimStatuses: listOf("any"),
});
