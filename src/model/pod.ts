/** The parts of a Kubernetes pod that AgentBox reads or writes. Anything else in a pod is carried along untouched. */
import type { ApiObject, Condition, Json } from "./meta.ts";
import type { ResourceType } from "./resource.ts";

export interface Pod extends ApiObject {
  readonly spec: PodSpec;
  readonly status?: PodStatus;
}

export interface PodTemplate {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: PodSpec;
}

export interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly nodeName?: string;
  readonly restartPolicy?: "Always" | "OnFailure" | "Never";
  readonly terminationGracePeriodSeconds?: number;
  readonly activeDeadlineSeconds?: number;
  readonly runtimeClassName?: string;
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly hostUsers?: boolean;
  readonly hostname?: string;
  readonly shareProcessNamespace?: boolean;
  readonly priorityClassName?: string;
  readonly imagePullSecrets?: readonly { readonly name: string }[];
  readonly securityContext?: { readonly [key: string]: Json };
  readonly tolerations?: readonly { readonly [key: string]: Json }[];
  readonly [field: string]: unknown;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  readonly env?: readonly EnvVar[];
  readonly ports?: readonly ContainerPort[];
  readonly resources?: ResourceRequirements;
  readonly volumeMounts?: readonly VolumeMount[];
  readonly imagePullPolicy?: "Always" | "IfNotPresent" | "Never";
  readonly restartPolicy?: string;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly startupProbe?: Probe;
  readonly securityContext?: { readonly [key: string]: Json };
  readonly [field: string]: unknown;
}

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly [key: string]: Json };
}

export interface ContainerPort {
  readonly containerPort: number;
  readonly name?: string;
  readonly protocol?: "TCP" | "UDP" | "SCTP";
  readonly hostPort?: number;
}

export interface ResourceRequirements {
  readonly limits?: Readonly<Record<string, string | number>>;
  readonly requests?: Readonly<Record<string, string | number>>;
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
  readonly subPath?: string;
}

export interface Volume {
  readonly name: string;
  readonly [source: string]: unknown;
}

export interface Probe {
  readonly httpGet?: { readonly path?: string; readonly port: number | string; readonly scheme?: string };
  readonly tcpSocket?: { readonly port: number | string };
  readonly exec?: { readonly command: readonly string[] };
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly successThreshold?: number;
  readonly failureThreshold?: number;
}

export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";

export interface PodStatus {
  readonly phase?: PodPhase;
  readonly reason?: string;
  readonly message?: string;
  readonly podIP?: string;
  readonly hostIP?: string;
  readonly startTime?: string;
  readonly conditions?: readonly PodCondition[];
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly qosClass?: string;
  readonly [field: string]: unknown;
}

export type PodCondition = Pick<Condition, "type" | "status"> & {
  readonly lastTransitionTime?: string;
  readonly lastProbeTime?: string | null;
  readonly reason?: string;
  readonly message?: string;
};

export interface ContainerStatus {
  readonly name: string;
  readonly image: string;
  readonly imageID: string;
  readonly containerID?: string;
  readonly ready: boolean;
  readonly started?: boolean;
  readonly restartCount: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

export interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: { readonly startedAt?: string };
  readonly terminated?: {
    readonly exitCode: number;
    readonly signal?: number;
    readonly reason?: string;
    readonly message?: string;
    readonly startedAt?: string;
    readonly finishedAt?: string;
    readonly containerID?: string;
  };
}

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
