/**
 * A pod as the store keeps it: every field is known and has its default (admission/builtin/pod-shape.ts). Only what a node
 * looks at is named. What a pod may say and a node cannot do is in plan/unsupported.ts.
 */
import type { ObjectMeta } from "#model/meta.ts";
import type { ContainerPort, Pod, PodStatus, ResourceRequirements } from "#model/pod.ts";

/** A pod that the server has named. */
export interface NodePod {
  readonly metadata: ObjectMeta & { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly spec: PodSpecFields;
  readonly status: PodStatus;
}

export interface PodSpecFields {
  readonly containers: readonly ContainerFields[];
  readonly initContainers?: readonly ContainerFields[];
  readonly ephemeralContainers?: readonly ContainerFields[];
  readonly volumes?: readonly VolumeFields[];
  readonly nodeName?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly affinity?: AffinityFields;
  readonly topologySpreadConstraints?: readonly { readonly topologyKey: string; readonly whenUnsatisfiable: string }[];
  readonly schedulingGates?: readonly { readonly name: string }[];
  readonly restartPolicy: "Always" | "OnFailure" | "Never";
  readonly terminationGracePeriodSeconds: number;
  readonly activeDeadlineSeconds?: number;
  readonly runtimeClassName?: string;
  readonly serviceAccountName?: string;
  readonly hostname?: string;
  readonly hostnameOverride?: string;
  readonly setHostnameAsFQDN?: boolean;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly shareProcessNamespace?: boolean;
  readonly imagePullSecrets?: readonly { readonly name?: string }[];
  readonly securityContext: PodSecurityFields;
  readonly readinessGates?: readonly { readonly conditionType: string }[];
  readonly dnsPolicy?: string;
  readonly dnsConfig?: object;
  readonly hostAliases?: readonly object[];
  readonly resourceClaims?: readonly object[];
  readonly resources?: ResourceRequirements;
  readonly os?: { readonly name: string };
}

export interface AffinityFields {
  readonly nodeAffinity?: {
    readonly requiredDuringSchedulingIgnoredDuringExecution?: { readonly nodeSelectorTerms?: readonly NodeSelectorTerm[] };
  };
  readonly podAffinity?: { readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly object[] };
  readonly podAntiAffinity?: { readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly object[] };
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly NodeRequirement[];
  readonly matchFields?: readonly NodeRequirement[];
}

export interface NodeRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface ContainerFields {
  readonly name: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  readonly env?: readonly EnvFields[];
  readonly envFrom?: readonly EnvFromFields[];
  readonly ports?: readonly ContainerPort[];
  readonly resources?: ResourceRequirements;
  readonly volumeMounts?: readonly MountFields[];
  readonly volumeDevices?: readonly object[];
  readonly imagePullPolicy?: "Always" | "IfNotPresent" | "Never";
  readonly restartPolicy?: string;
  readonly restartPolicyRules?: readonly object[];
  readonly startupProbe?: ProbeFields;
  readonly livenessProbe?: ProbeFields;
  readonly readinessProbe?: ProbeFields;
  readonly lifecycle?: { readonly postStart?: HandlerFields; readonly preStop?: HandlerFields; readonly stopSignal?: string };
  readonly terminationMessagePolicy?: string;
  readonly securityContext?: ContainerSecurityFields;
  readonly stdin?: boolean;
  readonly tty?: boolean;
}

export interface EnvFields {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: FieldReference;
    readonly resourceFieldRef?: ResourceFieldReference;
    readonly configMapKeyRef?: KeyReference;
    readonly secretKeyRef?: KeyReference;
    readonly fileKeyRef?: object;
  };
}

export interface FieldReference {
  readonly fieldPath: string;
}

export interface ResourceFieldReference {
  readonly containerName?: string;
  readonly resource: string;
  readonly divisor?: string;
}

export interface KeyReference {
  readonly name?: string;
  readonly key: string;
  readonly optional?: boolean;
}

export interface EnvFromFields {
  readonly prefix?: string;
  readonly configMapRef?: { readonly name?: string; readonly optional?: boolean };
  readonly secretRef?: { readonly name?: string; readonly optional?: boolean };
}

export interface MountFields {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
  readonly subPath?: string;
  readonly subPathExpr?: string;
  readonly mountPropagation?: string;
}

export interface VolumeFields {
  readonly name: string;
  readonly emptyDir?: { readonly medium?: string; readonly sizeLimit?: string };
  readonly configMap?: ObjectFilesFields & { readonly name?: string; readonly defaultMode?: number };
  readonly secret?: ObjectFilesFields & { readonly secretName?: string; readonly defaultMode?: number };
  readonly downwardAPI?: { readonly items?: readonly DownwardFile[]; readonly defaultMode?: number };
  readonly projected?: { readonly sources?: readonly ProjectionFields[]; readonly defaultMode?: number };
}

interface ObjectFilesFields {
  readonly items?: readonly KeyToPath[];
  readonly optional?: boolean;
}

export interface KeyToPath {
  readonly key: string;
  readonly path: string;
  readonly mode?: number;
}

export interface DownwardFile {
  readonly path: string;
  readonly fieldRef?: FieldReference;
  readonly resourceFieldRef?: ResourceFieldReference;
  readonly mode?: number;
}

export interface ProjectionFields {
  readonly configMap?: ObjectFilesFields & { readonly name?: string };
  readonly secret?: ObjectFilesFields & { readonly name?: string };
  readonly downwardAPI?: { readonly items?: readonly DownwardFile[] };
  readonly serviceAccountToken?: object;
  readonly clusterTrustBundle?: object;
  readonly podCertificate?: object;
}

export interface HandlerFields {
  readonly exec?: { readonly command?: readonly string[] };
  readonly httpGet?: HttpGetFields;
  readonly tcpSocket?: { readonly port: number | string; readonly host?: string };
  readonly grpc?: object;
  readonly sleep?: { readonly seconds: number };
}

export interface HttpGetFields {
  readonly path?: string;
  readonly port: number | string;
  readonly host?: string;
  readonly scheme?: string;
  readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[];
}

export interface ProbeFields extends HandlerFields {
  readonly initialDelaySeconds?: number;
  readonly timeoutSeconds: number;
  readonly periodSeconds: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
  readonly terminationGracePeriodSeconds?: number;
}

interface CommonSecurityFields {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly seccompProfile?: { readonly type: string };
  readonly appArmorProfile?: { readonly type: string };
  readonly seLinuxOptions?: object;
  readonly windowsOptions?: object;
}

export interface PodSecurityFields extends CommonSecurityFields {
  readonly fsGroup?: number;
  readonly supplementalGroups?: readonly number[];
  readonly supplementalGroupsPolicy?: string;
  readonly sysctls?: readonly object[];
}

export interface ContainerSecurityFields extends CommonSecurityFields {
  readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
  readonly privileged?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly procMount?: string;
}

/** What comes from the store has been through its rules, so it has this shape; nothing else reaches a node. */
export function nodePod(pod: Pod): NodePod {
  return pod as unknown as NodePod;
}
