/** Status of a SandboxEnv: what was seen of its members, per cluster and summed up. */
import { Type, type Static } from "typebox";
import { conditions, resourceRequirements } from "./common-schemas.ts";
import type { Frozen } from "./frozen.ts";
import { choice, int32, listMap, text, time } from "./schema-builders.ts";

/** Active: takes requests. Saturated: cannot grow for now. Missing: its pool is gone. Inconsistent: its pool is not what the Env says. */
export const observedMemberStates = ["Active", "Saturated", "Missing", "Inconsistent"] as const;

const observedMemberSchema = Type.Object(
  {
    name: text("The member's name."),
    instanceType: Type.Optional(text("As in its config.")),
    multiplier: Type.Optional(int32("As in its config.")),
    effectiveResources: Type.Optional(resourceRequirements("Resources of each pod: instance type times multiplier, or inlineResources.")),
    state: Type.Optional(choice(observedMemberStates, "Whether it can take requests.")),
    idleCount: Type.Optional(int32("Idle pods.")),
    runningCount: Type.Optional(int32("Running sandboxes.")),
    desiredReplicas: Type.Optional(int32("Pods that autoscaling last asked for.")),
    currentReplicas: Type.Optional(int32("spec.replicas of the pool when last seen.")),
    pendingRequests: Type.Optional(int32("Requests waiting at the pool. A throttled copy.")),
    saturatedUntil: Type.Optional(time("Until then it counts as full and is tried last.")),
    message: Type.Optional(text("Why it is not Active, and what would help.")),
    templateVersion: Type.Optional(text("Version of the template that its pool was made from.")),
  },
  { description: "One member as last seen." },
);

const clusterStatusSchema = Type.Object(
  {
    clusterID: text("The cluster's entry in spec."),
    isLocal: Type.Optional(Type.Boolean({ description: "True where the pools of this entry run: only there is it written." })),
    observedMembers: Type.Optional(listMap(observedMemberSchema, "name", { description: "Its members." })),
    lastSnapshotTime: Type.Optional(time("When this entry was written, or arrived from its cluster.")),
  },
  { description: "What was seen in one cluster." },
);

const scalingGroupStatusSchema = Type.Object(
  {
    name: text("The group's name."),
    totalIdle: Type.Optional(int32("Idle pods of all its members.")),
    totalRunning: Type.Optional(int32("Running sandboxes of all its members.")),
    totalDesired: Type.Optional(int32("Wanted pods of all its members.")),
    totalWaiting: Type.Optional(int32("Requests that wait for a pod of any of its members. A throttled copy.")),
    decision: Type.Optional(text("The latest decision of its autoscaler, and why.")),
  },
  { description: "Sums over one scaling group." },
);

export const envStatusSchema = Type.Object(
  {
    conditions: Type.Optional(
      conditions("Ready: all members are Active. TemplateConsistent: all use the template. AutoscalingActive: it can act."),
    ),
    clusters: Type.Optional(listMap(clusterStatusSchema, "clusterID", { description: "By cluster." })),
    scalingGroups: Type.Optional(listMap(scalingGroupStatusSchema, "name", { description: "By scaling group, over all clusters." })),
    templateVersion: Type.Optional(text("Version of the template that is used: the pinned one, or the current one when last seen.")),
    memberCount: Type.Optional(int32("Members in all clusters.")),
    desiredReplicas: Type.Optional(int32("Wanted pods of all members.")),
    runningReplicas: Type.Optional(int32("Running sandboxes of all members.")),
    idleReplicas: Type.Optional(int32("Idle pods of all members.")),
    waitingRequests: Type.Optional(int32("Requests that wait for a pod of any member. A throttled copy.")),
  },
  { description: "What the control plane has seen." },
);

export type EnvObservedMember = Frozen<Static<typeof observedMemberSchema>>;
export type EnvClusterStatus = Frozen<Static<typeof clusterStatusSchema>>;
export type EnvScalingGroupStatus = Frozen<Static<typeof scalingGroupStatusSchema>>;
export type SandboxEnvStatus = Frozen<Static<typeof envStatusSchema>>;
