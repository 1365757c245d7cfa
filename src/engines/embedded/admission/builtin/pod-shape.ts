/**
 * All fields of a pod: `pod-container-shape.ts` and `pod-volume-shape.ts` have those of its containers and volumes,
 * `pod-status-shape.ts` those of its status. What `any` stands for here is carried along without being looked at.
 */
import { objectMetaShape } from "./metadata-shape.ts";
import { commonSecurity, container, ephemeralContainer, resourceRequirements } from "./pod-container-shape.ts";
import { podStatus } from "./pod-status-shape.ts";
import { labelSelector, localObjectReference, volume } from "./pod-volume-shape.ts";
import { always, listOf, mapOf, shape } from "./shape.ts";

const podSecurityContext = shape("PodSecurityContext", {
  ...commonSecurity,
  supplementalGroups: listOf("int64"),
  supplementalGroupsPolicy: "string?",
  fsGroup: "int64?",
  sysctls: listOf(shape("Sysctl", { name: "string!", value: "string!" })),
  fsGroupChangePolicy: "string?",
  seLinuxChangePolicy: "string?",
});

const nodeRequirement = shape("NodeSelectorRequirement", { key: "string!", operator: "string!", values: listOf("string") });
const nodeTerm = shape("NodeSelectorTerm", { matchExpressions: listOf(nodeRequirement), matchFields: listOf(nodeRequirement) });

const podTerm = shape("PodAffinityTerm", {
  labelSelector,
  namespaces: listOf("string"),
  topologyKey: "string!",
  namespaceSelector: labelSelector,
  matchLabelKeys: listOf("string"),
  mismatchLabelKeys: listOf("string"),
});

const podAffinity = {
  requiredDuringSchedulingIgnoredDuringExecution: listOf(podTerm),
  preferredDuringSchedulingIgnoredDuringExecution: listOf(
    shape("WeightedPodAffinityTerm", { weight: "int32!", podAffinityTerm: always(podTerm) }),
  ),
} as const;

const affinity = shape("Affinity", {
  nodeAffinity: shape("NodeAffinity", {
    requiredDuringSchedulingIgnoredDuringExecution: shape("NodeSelector", { nodeSelectorTerms: listOf(nodeTerm) }),
    preferredDuringSchedulingIgnoredDuringExecution: listOf(
      shape("PreferredSchedulingTerm", { weight: "int32!", preference: always(nodeTerm) }),
    ),
  }),
  podAffinity: shape("PodAffinity", podAffinity),
  podAntiAffinity: shape("PodAntiAffinity", podAffinity),
});

const spreadConstraint = shape("TopologySpreadConstraint", {
  maxSkew: "int32!",
  topologyKey: "string!",
  whenUnsatisfiable: "string!",
  labelSelector,
  minDomains: "int32?",
  nodeAffinityPolicy: "string?",
  nodeTaintsPolicy: "string?",
  matchLabelKeys: listOf("string"),
});

const podSpec = shape("PodSpec", {
  volumes: listOf(volume),
  initContainers: listOf(container),
  containers: listOf(container),
  ephemeralContainers: listOf(ephemeralContainer),
  restartPolicy: "string=Always",
  terminationGracePeriodSeconds: "int64?=30",
  activeDeadlineSeconds: "int64?",
  dnsPolicy: "string=ClusterFirst",
  nodeSelector: mapOf("string"),
  serviceAccountName: "string",
  serviceAccount: "string",
  automountServiceAccountToken: "bool?",
  nodeName: "string",
  hostNetwork: "bool",
  hostPID: "bool",
  hostIPC: "bool",
  shareProcessNamespace: "bool?",
  securityContext: always(podSecurityContext),
  imagePullSecrets: listOf(localObjectReference),
  hostname: "string",
  subdomain: "string",
  affinity,
  schedulerName: "string=default-scheduler",
  tolerations: listOf(
    shape("Toleration", { key: "string", operator: "string", value: "string", effect: "string", tolerationSeconds: "int64?" }),
  ),
  hostAliases: listOf(shape("HostAlias", { ip: "string!", hostnames: listOf("string") })),
  priorityClassName: "string",
  priority: "int32?",
  dnsConfig: shape("PodDNSConfig", {
    nameservers: listOf("string"),
    searches: listOf("string"),
    options: listOf(shape("PodDNSConfigOption", { name: "string", value: "string?" })),
  }),
  readinessGates: listOf(shape("PodReadinessGate", { conditionType: "string!" })),
  runtimeClassName: "string?",
  enableServiceLinks: "bool?=true",
  preemptionPolicy: "string?",
  overhead: mapOf("quantity"),
  topologySpreadConstraints: listOf(spreadConstraint),
  setHostnameAsFQDN: "bool?",
  os: shape("PodOS", { name: "string!" }),
  hostUsers: "bool?",
  schedulingGates: listOf(shape("PodSchedulingGate", { name: "string!" })),
  resourceClaims: listOf(
    shape("PodResourceClaim", { name: "string!", resourceClaimName: "string?", resourceClaimTemplateName: "string?" }),
  ),
  resources: resourceRequirements,
  hostnameOverride: "string?",
  schedulingGroup: shape("PodSchedulingGroup", { podGroupName: "string?" }),
});

export const podShape = shape("Pod", {
  kind: "string=Pod",
  apiVersion: "string=v1",
  metadata: always(objectMetaShape),
  spec: always(podSpec),
  status: always(podStatus),
});
