/** The autoscaling part of a SandboxEnv: groups of members that grow and shrink together. */
import { Type, type Static } from "typebox";
import { replicaBoundsRule } from "./env-member.ts";
import type { Frozen } from "./frozen.ts";
import { choice, count, labelValue, listMap, rules } from "./schema-builders.ts";

/** Bounds for the cost of CEL rules: see schema-builders.ts. */
const maxGroups = 64;

/** Growth per decision. Conservative: one pod. Default: half as many again, at least one. Aggressive: twice as many, up to maxReplicas. */
export const scaleUpModes = ["Conservative", "Default", "Aggressive"] as const;
export type PoolScaleUpMode = (typeof scaleUpModes)[number];

/** The server writes these into every group, so that no policy hides in code. */
export const scaleUpDefaults = {
  mode: "Default",
  cooldownSeconds: 30,
  idleThresholdSeconds: 30,
  idleZeroQuietWindowSeconds: 300,
  saturationCooldownSeconds: 60,
} as const;

export const scaleDownDefaults = {
  idleTimeoutSeconds: 300,
  stabilizationSeconds: 60,
  protectionWindowSeconds: 10,
} as const;

const seconds = (description: string, defaultSeconds: number) => Type.Optional(count(description, { default: defaultSeconds }));

const scaleUpPolicySchema = Type.Object(
  {
    mode: Type.Optional(
      choice(scaleUpModes, "Growth per step: one pod (Conservative), by half (Default), doubled up to maxReplicas (Aggressive).", {
        default: scaleUpDefaults.mode,
      }),
    ),
    cooldownSeconds: seconds("Least time between two steps.", scaleUpDefaults.cooldownSeconds),
    idleThresholdSeconds: seconds(
      "Grow after this long without an idle pod, even if nobody waits. 0: never.",
      scaleUpDefaults.idleThresholdSeconds,
    ),
    idleZeroQuietWindowSeconds: seconds(
      "No such growth when the latest request is older than this. 0: always. Waiting requests are served in any case.",
      scaleUpDefaults.idleZeroQuietWindowSeconds,
    ),
    saturationCooldownSeconds: seconds("How long a member that found no room counts as full.", scaleUpDefaults.saturationCooldownSeconds),
  },
  { description: "When and how far the group grows.", default: {} },
);

const scaleDownPolicySchema = Type.Object(
  {
    idleTimeoutSeconds: seconds("A pod must have been idle this long to be taken away.", scaleDownDefaults.idleTimeoutSeconds),
    stabilizationSeconds: seconds("Least time between two steps.", scaleDownDefaults.stabilizationSeconds),
    protectionWindowSeconds: seconds(
      "Between the choice of a pod and its deletion: a request may still take it.",
      scaleDownDefaults.protectionWindowSeconds,
    ),
  },
  { description: "When the group shrinks.", default: {} },
);

const autoscalingGroupSchema = Type.Object(
  {
    name: labelValue("The scalingGroup of its members. At least one member must have it.", { minLength: 1 }),
    enabled: Type.Optional(Type.Boolean({ description: "Off: replicas of its members are set by hand.", default: false })),
    minReplicas: Type.Optional(count("Fewest pods of all members together.", { default: 0 })),
    maxReplicas: Type.Optional(count("Most pods of all members together. No limit when left out, which mode Aggressive does not allow.")),
    scaleUpPolicy: Type.Optional(scaleUpPolicySchema),
    scaleDownPolicy: Type.Optional(scaleDownPolicySchema),
  },
  {
    description: "Members that are scaled together.",
    ...rules(
      {
        rule: "self.scaleUpPolicy.mode != 'Aggressive' || has(self.maxReplicas)",
        message: "mode Aggressive needs maxReplicas: the number of pods doubles with every step",
        reason: "FieldValueRequired",
        fieldPath: ".maxReplicas",
      },
      replicaBoundsRule,
    ),
  },
);

export const autoscalingSchema = Type.Object(
  { groups: Type.Optional(listMap(autoscalingGroupSchema, "name", { description: "One entry per scaling group.", maxItems: maxGroups })) },
  { description: "Autoscaling by group. A group without an entry is scaled by hand." },
);

export type PoolScaleUpPolicy = Frozen<Static<typeof scaleUpPolicySchema>>;
export type PoolScaleDownPolicy = Frozen<Static<typeof scaleDownPolicySchema>>;
export type EnvAutoscalingGroup = Frozen<Static<typeof autoscalingGroupSchema>>;
export type EnvAutoscalingSpec = Frozen<Static<typeof autoscalingSchema>>;
