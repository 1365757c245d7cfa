/** Pods and their parts, as Kubernetes has them, and the kind of pods. */
import type { Pod, PodSpec, PodStatus } from "./kubernetes.generated.ts";
import type { ResourceType } from "./resource.ts";

export type {
  Container,
  ContainerPort,
  ContainerState,
  ContainerStatus,
  EnvVar,
  Pod,
  PodCondition,
  PodSpec,
  PodStatus,
  Probe,
  ResourceRequirements,
  Volume,
} from "./kubernetes.generated.ts";

/** The pods of a pool before they are made. */
export interface PodTemplate {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: PodSpec;
}

export type PodPhase = NonNullable<PodStatus["phase"]>;

export const Pods: ResourceType<Pod> = {
  group: "",
  version: "v1",
  kind: "Pod",
  plural: "pods",
  singular: "pod",
  shortNames: ["po"],
  namespaced: true,
  statusSubresource: true,
};
