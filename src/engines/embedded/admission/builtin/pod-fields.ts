/**
 * A pod as pod-shape.ts leaves it: what is `!` there is always here, what is left out when empty may be missing. Only the
 * fields that the rules look at are named. The model's Pod is what the rest of AgentBox writes; this is what comes in.
 */
import type { ObjectMeta } from "#model/meta.ts";
import type { JsonRecord } from "../json.ts";

export interface PodFields {
  readonly metadata: ObjectMeta;
  readonly spec: PodSpecFields;
  readonly status: PodStatusFields;
}

export interface PodSpecFields {
  readonly volumes?: readonly VolumeFields[];
  readonly initContainers?: readonly ContainerFields[];
  readonly containers?: readonly ContainerFields[];
  readonly ephemeralContainers?: readonly ContainerFields[];
  readonly restartPolicy: string;
  readonly terminationGracePeriodSeconds: number;
  readonly activeDeadlineSeconds?: number;
  readonly dnsPolicy: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly serviceAccountName?: string;
  readonly serviceAccount?: string;
  readonly nodeName?: string;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly hostUsers?: boolean;
  readonly shareProcessNamespace?: boolean;
  readonly securityContext: PodSecurityFields;
  readonly hostname?: string;
  readonly subdomain?: string;
  readonly schedulerName: string;
  readonly affinity?: AffinityFields;
  readonly tolerations?: readonly Toleration[];
  readonly hostAliases?: readonly { readonly ip: string; readonly hostnames?: readonly string[] }[];
  readonly priorityClassName?: string;
  readonly priority?: number;
  readonly preemptionPolicy?: string;
  readonly dnsConfig?: {
    readonly nameservers?: readonly string[];
    readonly searches?: readonly string[];
    readonly options?: readonly { readonly name?: string }[];
  };
  readonly readinessGates?: readonly { readonly conditionType: string }[];
  readonly topologySpreadConstraints?: readonly SpreadConstraint[];
  readonly os?: { readonly name: string };
  readonly schedulingGates?: readonly { readonly name: string }[];
  readonly resourceClaims?: readonly { readonly name: string }[];
}

export interface ContainerFields {
  readonly name: string;
  readonly image?: string;
  readonly ports?: readonly PortFields[];
  readonly env?: readonly EnvFields[];
  readonly envFrom?: readonly EnvFromFields[];
  readonly resources: ResourceFields;
  readonly resizePolicy?: readonly { readonly resourceName: string; readonly restartPolicy: string }[];
  readonly restartPolicy?: string;
  readonly volumeMounts?: readonly MountFields[];
  readonly livenessProbe?: ProbeFields;
  readonly readinessProbe?: ProbeFields;
  readonly startupProbe?: ProbeFields;
  readonly lifecycle?: { readonly postStart?: HandlerFields; readonly preStop?: HandlerFields };
  readonly terminationMessagePolicy: string;
  readonly imagePullPolicy?: string;
  readonly securityContext?: SecurityFields;
}

export interface PortFields {
  readonly name?: string;
  readonly hostPort?: number;
  readonly containerPort: number;
  readonly protocol: string;
  readonly hostIP?: string;
}

export interface EnvFields {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: FieldReference;
    readonly resourceFieldRef?: { readonly resource: string };
    readonly configMapKeyRef?: ObjectKey;
    readonly secretKeyRef?: ObjectKey;
    readonly fileKeyRef?: JsonRecord;
  };
}

export interface FieldReference {
  readonly apiVersion: string;
  readonly fieldPath: string;
}

export interface ObjectKey {
  readonly name?: string;
  readonly key: string;
}

export interface EnvFromFields {
  readonly prefix?: string;
  readonly configMapRef?: { readonly name?: string };
  readonly secretRef?: { readonly name?: string };
}

export interface ResourceFields {
  readonly limits?: Readonly<Record<string, string>>;
  readonly requests?: Readonly<Record<string, string>>;
  readonly claims?: readonly { readonly name: string }[];
}

export interface MountFields {
  readonly name: string;
  readonly mountPath: string;
  readonly subPath?: string;
  readonly subPathExpr?: string;
  readonly mountPropagation?: string;
}

export interface HandlerFields {
  readonly exec?: { readonly command?: readonly string[] };
  readonly httpGet?: {
    readonly port: number | string;
    readonly scheme: string;
    readonly httpHeaders?: readonly { readonly name: string }[];
  };
  readonly tcpSocket?: { readonly port: number | string };
  readonly grpc?: { readonly port: number };
  readonly sleep?: { readonly seconds: number };
}

export interface ProbeFields extends HandlerFields {
  readonly initialDelaySeconds?: number;
  readonly timeoutSeconds: number;
  readonly periodSeconds: number;
  readonly successThreshold: number;
  readonly failureThreshold: number;
  readonly terminationGracePeriodSeconds?: number;
}

interface ProfileFields {
  readonly type: string;
  readonly localhostProfile?: string;
}

export interface CommonSecurityFields {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly seccompProfile?: ProfileFields;
  readonly appArmorProfile?: ProfileFields;
}

export interface PodSecurityFields extends CommonSecurityFields {
  readonly fsGroup?: number;
  readonly supplementalGroups?: readonly number[];
  readonly sysctls?: readonly { readonly name: string }[];
  readonly fsGroupChangePolicy?: string;
}

export interface SecurityFields extends CommonSecurityFields {
  readonly capabilities?: { readonly add?: readonly string[] };
  readonly privileged?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly procMount?: string;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

export interface SpreadConstraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: string;
}

export interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface NodeTerm {
  readonly matchExpressions?: readonly Requirement[];
  readonly matchFields?: readonly Requirement[];
}

export interface PodTerm {
  readonly topologyKey: string;
}

export interface PodAffinityFields {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly PodTerm[];
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly { readonly weight: number; readonly podAffinityTerm: PodTerm }[];
}

export interface AffinityFields {
  readonly nodeAffinity?: {
    readonly requiredDuringSchedulingIgnoredDuringExecution?: { readonly nodeSelectorTerms?: readonly NodeTerm[] };
    readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly { readonly weight: number; readonly preference: NodeTerm }[];
  };
  readonly podAffinity?: PodAffinityFields;
  readonly podAntiAffinity?: PodAffinityFields;
}

export interface KeyToPath {
  readonly key: string;
  readonly path: string;
  readonly mode?: number;
}

/** A source that is a set of files of one object. */
export interface ObjectFiles {
  readonly name?: string;
  readonly secretName?: string;
  readonly items?: readonly KeyToPath[];
  readonly defaultMode?: number;
}

export interface DownwardFile {
  readonly path: string;
  readonly fieldRef?: FieldReference;
  readonly resourceFieldRef?: JsonRecord;
  readonly mode?: number;
}

export interface VolumeFields {
  readonly name: string;
  readonly emptyDir?: { readonly sizeLimit?: string };
  readonly hostPath?: { readonly path: string; readonly type: string };
  readonly secret?: ObjectFiles;
  readonly configMap?: ObjectFiles;
  readonly projected?: { readonly sources?: readonly ProjectionFields[]; readonly defaultMode?: number };
  readonly downwardAPI?: { readonly items?: readonly DownwardFile[]; readonly defaultMode?: number };
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly ephemeral?: { readonly volumeClaimTemplate?: JsonRecord };
  readonly image?: { readonly reference?: string; readonly pullPolicy?: string };
  readonly csi?: { readonly driver: string };
  readonly nfs?: { readonly server: string; readonly path: string };
  readonly [source: string]: unknown;
}

export interface ProjectionFields {
  readonly secret?: ObjectFiles;
  readonly configMap?: ObjectFiles;
  readonly downwardAPI?: { readonly items?: readonly DownwardFile[] };
  readonly serviceAccountToken?: { readonly path: string; readonly expirationSeconds: number };
}

export interface ContainerStatusFields {
  readonly name: string;
  readonly state: { readonly terminated?: { readonly exitCode: number } };
}

export interface PodStatusFields {
  readonly phase?: string;
  readonly conditions?: readonly { readonly type: string }[];
  readonly nominatedNodeName?: string;
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip: string }[];
  readonly hostIP?: string;
  readonly hostIPs?: readonly { readonly ip: string }[];
  readonly qosClass?: string;
  readonly initContainerStatuses?: readonly ContainerStatusFields[];
  readonly containerStatuses?: readonly ContainerStatusFields[];
}
