/** SandboxEnvs that every API server refuses. */
import type { Json, JsonObject } from "#model/meta.ts";
import { badObjectsOf, smallest } from "./object-corpus.ts";

const bad = badObjectsOf("env");
const withClusters = (...clusters: readonly Json[]): JsonObject => ({ ...smallest.env, clusters });
const withMember = (member: JsonObject): JsonObject => withClusters({ clusterID: "local", members: [{ name: "shell-a", ...member }] });
const withConfig = (config: Json): JsonObject => withMember({ config });
const withGroups = (...groups: readonly Json[]): JsonObject => ({ ...withMember({}), autoscaling: { groups } });
const withGroup = (group: JsonObject): JsonObject => withGroups({ name: "default", ...group });

const manyNames = (count: number): JsonObject[] => Array.from({ length: count }, (_, index) => ({ name: `n${index}` }));

const member = "spec.clusters[0].members[0]";
const group = "spec.autoscaling.groups[0]";

const badMembers = [
  bad.spec("env with a cluster without an id", withClusters({ members: [] }), ["spec.clusters[0].clusterID", "FieldValueRequired"]),
  bad.spec("env with a cluster whose id is empty", withClusters({ clusterID: "" }), ["spec.clusters[0].clusterID", "FieldValueInvalid"]),
  bad.spec("env with two clusters of one id", withClusters({ clusterID: "a" }, { clusterID: "a" }), [
    "spec.clusters[1]",
    "FieldValueDuplicate",
  ]),
  bad.spec("env with 33 clusters", withClusters(...Array.from({ length: 33 }, (_, index) => ({ clusterID: `c${index}` }))), [
    "spec.clusters",
    "FieldValueTooMany",
  ]),
  bad.spec("env with a member without a name", withClusters({ clusterID: "a", members: [{}] }), [`${member}.name`, "FieldValueRequired"]),
  bad.spec("env with a member name that no pool can have", withMember({ name: "-a" }), [`${member}.name`, "FieldValueInvalid"]),
  bad.spec("env with a member name of 64 characters", withMember({ name: "a".repeat(64) }), [`${member}.name`, "FieldValueTooLong"]),
  bad.spec("env with two members of one name in a cluster", withClusters({ clusterID: "a", members: [{ name: "x" }, { name: "x" }] }), [
    "spec.clusters[0].members[1]",
    "FieldValueDuplicate",
  ]),
  bad.spec("env with 129 members in a cluster", withClusters({ clusterID: "a", members: manyNames(129) }), [
    "spec.clusters[0].members",
    "FieldValueTooMany",
  ]),
  bad.spec("env with a member whose pool has no replicas", withMember({ spec: {} }), [`${member}.spec.replicas`, "FieldValueRequired"]),
  bad.spec("env with a member whose pool has negative replicas", withMember({ spec: { replicas: -1 } }), [
    `${member}.spec.replicas`,
    "FieldValueInvalid",
  ]),
  bad.spec(
    "env with a member pool's runtime with an empty probe",
    withMember({ spec: { replicas: 1, runtimes: [{ name: "r", readinessProbe: {} }] } }),
    [`${member}.spec.runtimes[0].readinessProbe`, "FieldValueInvalid"],
  ),
  bad.spec("env with a member's pool label that is none", withMember({ metadata: { labels: { tier: "a b" } } }), [
    `${member}.metadata.labels.tier`,
    "FieldValueInvalid",
  ]),
  bad.spec("env with a member label that is none", withConfig({ labels: { tier: "-" } }), [
    `${member}.config.labels.tier`,
    "FieldValueInvalid",
  ]),
  bad.spec("env with a member annotation that is a number", withConfig({ annotations: { note: 1 } }), [
    `${member}.config.annotations.note`,
    "FieldValueTypeInvalid",
  ]),
  bad.spec("env with a member's negative multiplier", withConfig({ multiplier: -1 }), [`${member}.config.multiplier`, "FieldValueInvalid"]),
  bad.spec("env with a member's instance type without a multiplier", withConfig({ instanceType: "m1" }), [
    `${member}.config.multiplier`,
    "FieldValueRequired",
  ]),
  bad.spec("env with a member's instance type times nothing", withConfig({ instanceType: "m1", multiplier: 0 }), [
    `${member}.config.multiplier`,
    "FieldValueRequired",
  ]),
  bad.spec("env with a member's multiplier of nothing", withConfig({ multiplier: 2 }), [
    `${member}.config.instanceType`,
    "FieldValueRequired",
  ]),
  bad.spec("env with a member's minimum above its maximum", withConfig({ minReplicas: 3, maxReplicas: 2 }), [
    `${member}.config.minReplicas`,
    "FieldValueInvalid",
  ]),
  bad.spec("env with a member's negative maximum", withConfig({ maxReplicas: -1 }), [`${member}.config.maxReplicas`, "FieldValueInvalid"]),
  bad.spec("env with a member's scaling group that no label could hold", withConfig({ scalingGroup: "two words" }), [
    `${member}.config.scalingGroup`,
    "FieldValueInvalid",
  ]),
  bad.spec("env with a member's fractional priority", withConfig({ priority: 0.5 }), [
    `${member}.config.priority`,
    "FieldValueTypeInvalid",
  ]),
  bad.spec("env with a member's amount of memory that is none", withConfig({ inlineResources: { limits: { memory: "512 MB" } } }), [
    `${member}.config.inlineResources.limits.memory`,
    "FieldValueInvalid",
  ]),
  bad.spec("env with a member's amount of memory that is true", withConfig({ inlineResources: { limits: { memory: true } } }), [
    `${member}.config.inlineResources.limits.memory`,
    "FieldValueTypeInvalid",
  ]),
  bad.spec(
    "env with a device claimed twice for a member",
    withConfig({ inlineResources: { claims: [{ name: "gpu" }, { name: "gpu" }] } }),
    [`${member}.config.inlineResources.claims[1]`, "FieldValueDuplicate"],
  ),
];

const badGroups = [
  bad.spec("env with a group without a name", withGroups({}), [`${group}.name`, "FieldValueRequired"]),
  bad.spec("env with a group whose name is empty", withGroups({ name: "" }), [`${group}.name`, "FieldValueInvalid"]),
  bad.spec("env with two groups of one name", withGroups({ name: "default" }, { name: "default" }), [
    "spec.autoscaling.groups[1]",
    "FieldValueDuplicate",
  ]),
  bad.spec("env with 65 groups", withGroups(...manyNames(65)), ["spec.autoscaling.groups", "FieldValueTooMany"]),
  bad.spec("env with a group without members", withGroups({ name: "default" }, { name: "other" }), [
    "spec.autoscaling.groups",
    "FieldValueInvalid",
  ]),
  bad.spec("env with a group and no clusters", { ...smallest.env, autoscaling: { groups: [{ name: "default" }] } }, [
    "spec.autoscaling.groups",
    "FieldValueInvalid",
  ]),
  bad.spec("env with a group that is perhaps enabled", withGroup({ enabled: "yes" }), [`${group}.enabled`, "FieldValueTypeInvalid"]),
  bad.spec("env with a group's negative minimum", withGroup({ minReplicas: -1 }), [`${group}.minReplicas`, "FieldValueInvalid"]),
  bad.spec("env with a group's negative maximum", withGroup({ maxReplicas: -1 }), [`${group}.maxReplicas`, "FieldValueInvalid"]),
  bad.spec("env with a group's minimum above its maximum", withGroup({ minReplicas: 5, maxReplicas: 4 }), [
    `${group}.minReplicas`,
    "FieldValueInvalid",
  ]),
  bad.spec("env with a group that doubles without limit", withGroup({ scaleUpPolicy: { mode: "Aggressive" } }), [
    `${group}.maxReplicas`,
    "FieldValueRequired",
  ]),
  bad.spec("env with an unknown way to grow", withGroup({ scaleUpPolicy: { mode: "Fast" } }), [
    `${group}.scaleUpPolicy.mode`,
    "FieldValueNotSupported",
  ]),
  ...["cooldownSeconds", "idleThresholdSeconds", "idleZeroQuietWindowSeconds", "saturationCooldownSeconds"].map((field) =>
    bad.spec(`env that grows with negative ${field}`, withGroup({ scaleUpPolicy: { [field]: -1 } }), [
      `${group}.scaleUpPolicy.${field}`,
      "FieldValueInvalid",
    ]),
  ),
  ...["idleTimeoutSeconds", "stabilizationSeconds", "protectionWindowSeconds"].map((field) =>
    bad.spec(`env that shrinks with negative ${field}`, withGroup({ scaleDownPolicy: { [field]: -1 } }), [
      `${group}.scaleDownPolicy.${field}`,
      "FieldValueInvalid",
    ]),
  ),
];

export const badEnvs = [
  bad.metadata("env name of 64 characters, which no label could hold", { name: "a".repeat(64) }, ["metadata.name", "FieldValueTooLong"]),
  bad.spec("env whose spec is empty", {}, ["spec.templateRef", "FieldValueRequired"]),
  bad.spec("env whose template has no name", { templateRef: {} }, ["spec.templateRef.name", "FieldValueRequired"]),
  bad.spec("env whose template name is none", { templateRef: { name: "a/b" } }, ["spec.templateRef.name", "FieldValueInvalid"]),
  bad.spec("env whose template version is none", { templateRef: { name: "shell", version: "latest" } }, [
    "spec.templateRef.version",
    "FieldValueInvalid",
  ]),
  bad.spec("env of an unknown mode", { ...smallest.env, mode: "ColdPool" }, ["spec.mode", "FieldValueNotSupported"]),
  bad.spec("env with a default multiplier of 0", { ...smallest.env, defaults: { instanceType: "m1", multiplier: 0 } }, [
    "spec.defaults.multiplier",
    "FieldValueInvalid",
  ]),
  bad.spec("env with a default instance type without a multiplier", { ...smallest.env, defaults: { instanceType: "m1" } }, [
    "spec.defaults.multiplier",
    "FieldValueRequired",
  ]),
  bad.spec("env with a default multiplier of nothing", { ...smallest.env, defaults: { multiplier: 2 } }, [
    "spec.defaults.instanceType",
    "FieldValueRequired",
  ]),
  bad.spec("env with an unknown image policy", { ...smallest.env, overrides: { podCreationImagePolicy: "Any" } }, [
    "spec.overrides.podCreationImagePolicy",
    "FieldValueNotSupported",
  ]),
  bad.spec("env with a deep pause that may be needed", { ...smallest.env, overrides: { deepPause: { whenNeeded: "maybe" } } }, [
    "spec.overrides.deepPause.whenNeeded",
    "FieldValueTypeInvalid",
  ]),
  bad.spec("env with an idle timeout in weeks", { ...smallest.env, overrides: { defaultIdleTimeout: "1w" } }, [
    "spec.overrides.defaultIdleTimeout",
    "FieldValueInvalid",
  ]),
  ...badMembers,
  ...badGroups,
  bad.status("env with an observed cluster without an id", { clusters: [{}] }, ["status.clusters[0].clusterID", "FieldValueRequired"]),
  bad.status(
    "env with an observed member in an unknown state",
    { clusters: [{ clusterID: "a", observedMembers: [{ name: "x", state: "Lost" }] }] },
    ["status.clusters[0].observedMembers[0].state", "FieldValueNotSupported"],
  ),
  bad.status(
    "env with a member that is full until noon",
    { clusters: [{ clusterID: "a", observedMembers: [{ name: "x", saturatedUntil: "noon" }] }] },
    ["status.clusters[0].observedMembers[0].saturatedUntil", "FieldValueTypeInvalid"],
  ),
  bad.status("env with a scaling group seen twice", { scalingGroups: [{ name: "a" }, { name: "a" }] }, [
    "status.scalingGroups[1]",
    "FieldValueDuplicate",
  ]),
];
