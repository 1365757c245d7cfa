/** The defaults of a pod that depend on other fields; those that do not are in kubernetes-shape.ts. */
import { mapList, withProperties } from "../json.ts";
import { defaultPullPolicy } from "./image-tag.ts";
import type { StoredContainer, StoredPod, StoredPodSpec } from "#engines/embedded/stored-pod.ts";
import type { ContainerPort, PodStatus, ResourceRequirements, Volume } from "#model/kubernetes.generated.ts";
import { volumeSources } from "./kubernetes-shape.ts";

export function completePod(pod: StoredPod): StoredPod {
  return withProperties(pod, { spec: completeSpec(pod.spec), status: completeStatus(pod.status) });
}

function completeSpec(spec: StoredPodSpec): StoredPodSpec {
  const account = spec.serviceAccountName ?? spec.serviceAccount;
  return withProperties(spec, {
    containers: completeContainers(spec.containers, spec),
    initContainers: completeContainers(spec.initContainers, spec),
    ephemeralContainers: completeContainers(spec.ephemeralContainers, spec),
    volumes: spec.volumes && mapList(spec.volumes, completeVolume),
    serviceAccountName: account,
    // The older name of the same field is kept for readers that know only it.
    serviceAccount: account,
    terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds < 0 ? 1 : spec.terminationGracePeriodSeconds,
  });
}

function completeContainers(
  containers: readonly StoredContainer[] | undefined,
  spec: StoredPodSpec,
): readonly StoredContainer[] | undefined {
  return containers && mapList(containers, (container) => completeContainer(container, spec));
}

function completeContainer(container: StoredContainer, spec: StoredPodSpec): StoredContainer {
  return withProperties(container, {
    imagePullPolicy: container.imagePullPolicy ?? defaultPullPolicy(container.image ?? ""),
    resources: requestLimits(container.resources),
    ports: spec.hostNetwork === true ? container.ports && mapList(container.ports, openOnHost) : container.ports,
  });
}

function openOnHost(port: ContainerPort): ContainerPort {
  return port.hostPort === undefined && port.containerPort !== 0 ? { ...port, hostPort: port.containerPort } : port;
}

/** A limit without a request sets the request to the limit. */
function requestLimits(resources: ResourceRequirements): ResourceRequirements {
  const { limits, requests } = resources;
  if (limits === undefined || Object.keys(limits).every((name) => requests !== undefined && Object.hasOwn(requests, name)))
    return resources;
  return { ...resources, requests: { ...limits, ...requests } };
}

function completeVolume(volume: Volume): Volume {
  if (!volumeSources.some((source) => Object.hasOwn(volume, source))) return { ...volume, emptyDir: {} };
  const { image } = volume;
  if (image === undefined || image.pullPolicy !== undefined) return volume;
  return { ...volume, image: { ...image, pullPolicy: defaultPullPolicy(image.reference ?? "") } };
}

/** One address and the list of addresses say the same; the single one wins. */
function completeStatus(status: PodStatus): PodStatus {
  const { podIP, podIPs } = status;
  const first = podIPs?.[0]?.ip;
  if (podIP === first) return status;
  return podIP === undefined ? { ...status, ...(first !== undefined && { podIP: first }) } : { ...status, podIPs: [{ ip: podIP }] };
}
