/**
 * Members of a SandboxEnv: for each cluster, the pools that it contributes.
 *
 * Two rules that one might expect are missing on purpose:
 * - A member's name may occur in two clusters. It is the name of a pool there, and pools of different clusters do not meet;
 *   within a cluster the list key makes it unique.
 * - spec.replicas may be outside config.minReplicas and maxReplicas. These limit only later decisions of the autoscaler: lowering the maximum must not
 * require lowering the replicas in the same write.
 * That members of one scaling group have equal resources is for the Env controller to judge: instance types are looked up in a catalogue.
 */
import { Type, type Static } from "typebox";
import { resourceRequirements } from "./common-schemas.ts";
import type { Frozen } from "./frozen.ts";
import { poolSnapshotSchema } from "./sandbox-pool.ts";
import { count, int32, labelMap, labelledName, labelValue, listMap, rules, stringMap, text } from "./schema-builders.ts";
import type { CelRule } from "./structural-schema.ts";

/** Bounds for the cost of CEL rules: see schema-builders.ts. */
const maxClusters = 32;
const maxMembersPerCluster = 128;

/** Shared with the Env's defaults. */
export const instanceTypeRules: readonly CelRule[] = [
  {
    rule: "!has(self.instanceType) || self.instanceType == '' || (has(self.multiplier) && self.multiplier >= 1)",
    message: "instanceType needs a multiplier of at least 1",
    reason: "FieldValueRequired",
    fieldPath: ".multiplier",
  },
  {
    rule: "!has(self.multiplier) || self.multiplier == 0 || (has(self.instanceType) && self.instanceType != '')",
    message: "multiplier needs an instanceType to multiply",
    reason: "FieldValueRequired",
    fieldPath: ".instanceType",
  },
];

export const replicaBoundsRule: CelRule = {
  rule: "!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",
  message: "minReplicas must not be greater than maxReplicas",
  fieldPath: ".minReplicas",
};

const memberConfigSchema = Type.Object(
  {
    labels: Type.Optional(labelMap("Labels for the pool. Plugins may read them.")),
    annotations: Type.Optional(stringMap("Annotations for the pool.")),
    instanceType: Type.Optional(text("Entry of the instance type catalogue. Goes before inlineResources.", { maxLength: 253 })),
    multiplier: Type.Optional(count("How many times the instance type's resources. Needed with instanceType.")),
    inlineResources: Type.Optional(resourceRequirements("Resources of each pod, for pools without an instance type.")),
    scalingGroup: Type.Optional(
      labelValue("Autoscaling group of this member. Empty: takes no part in autoscaling. Members of a group must have equal resources.", {
        default: "default",
      }),
    ),
    minReplicas: Type.Optional(count("Autoscaling goes no lower for this member.")),
    maxReplicas: Type.Optional(count("Autoscaling goes no higher for this member.")),
    priority: Type.Optional(int32("Preference, lower is better: preferred members get requests first, grow first and shrink last.")),
    scaleUpPriority: Type.Optional(int32("Instead of priority when growing: lower grows first.")),
    scaleDownPriority: Type.Optional(int32("Instead of priority when shrinking: higher shrinks first.")),
  },
  {
    description: "What the user asked for. Only users change it.",
    // A member without config is one with a config of defaults: it belongs to the group "default" either way.
    default: {},
    ...rules(...instanceTypeRules, replicaBoundsRule),
  },
);

const memberMetadataSchema = Type.Object(
  {
    labels: Type.Optional(labelMap("Labels of the pool, plugins' ones included.")),
    annotations: Type.Optional(stringMap("Annotations of the pool, plugins' ones included.")),
  },
  { description: "Labels and annotations of the pool as it is to be made. Kept by the control plane." },
);

const memberSchema = Type.Object(
  {
    name: labelledName("Name of the pool, in the Env's namespace."),
    metadata: Type.Optional(memberMetadataSchema),
    spec: Type.Optional(poolSnapshotSchema),
    config: Type.Optional(memberConfigSchema),
  },
  { description: "One pool of the Env." },
);

const envClusterSchema = Type.Object(
  {
    clusterID: text("Cluster that this entry belongs to. Only that cluster's control plane changes it.", { minLength: 1, maxLength: 253 }),
    members: Type.Optional(listMap(memberSchema, "name", { description: "Pools in this cluster.", maxItems: maxMembersPerCluster })),
  },
  { description: "What one cluster contributes." },
);

export function envClusters(description: string) {
  return listMap(envClusterSchema, "clusterID", { description, maxItems: maxClusters });
}

export type EnvClusterMemberConfig = Frozen<Static<typeof memberConfigSchema>>;
export type MemberMetadata = Frozen<Static<typeof memberMetadataSchema>>;
export type EnvClusterMember = Frozen<Static<typeof memberSchema>>;
export type EnvClusterSpec = Frozen<Static<typeof envClusterSchema>>;

type Priorities = Pick<EnvClusterMemberConfig, "priority" | "scaleUpPriority" | "scaleDownPriority">;

/** Which member of a group grows first: the lowest. */
export function effectiveScaleUpPriority(config: Priorities): number {
  return config.scaleUpPriority ?? config.priority ?? 0;
}

/** Which member of a group shrinks first: the highest, so that one `priority` means "preferred" in both directions. */
export function effectiveScaleDownPriority(config: Priorities): number {
  return config.scaleDownPriority ?? config.priority ?? 0;
}
