/** The autoscaling part of a SandboxEnv: groups of members that grow and shrink together. */
import { Type, type Static } from "typebox";
import { replicaBoundsRule } from "./env-member.ts";
import type { Frozen } from "./frozen.ts";
import { choice, count, labelValue, listMap, rules, text } from "./schema-builders.ts";

/** Bounds for the cost of CEL rules: see schema-builders.ts. */
const maxGroups = 64;
const maxSchedules = 32;

/**
 * Growth per decision. Conservative: one pod. Default: half as many again, at least one. Aggressive: twice as many, up to maxReplicas.
 * Demand (ours): as many as are in use and waited for, and spare ones for the arrivals of one refill time.
 */
export const scaleUpModes = ["Conservative", "Default", "Aggressive", "Demand"] as const;
export type PoolScaleUpMode = (typeof scaleUpModes)[number];

/** The server writes these into every group, so that no policy hides in code. */
export const scaleUpDefaults = {
  mode: "Default",
  cooldownSeconds: 30,
  idleThresholdSeconds: 30,
  idleZeroQuietWindowSeconds: 300,
  saturationCooldownSeconds: 60,
} as const;

/** Of mode Demand. */
export const demandDefaults = {
  coveragePercent: 99,
  emptyAfterSeconds: 600,
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
      choice(
        scaleUpModes,
        "Growth per step: one pod (Conservative), by half (Default), doubled up to maxReplicas (Aggressive); or by what is used, waited for and likely to be asked for next (Demand).",
        {
          default: scaleUpDefaults.mode,
        },
      ),
    ),
    cooldownSeconds: seconds("Least time between two steps.", scaleUpDefaults.cooldownSeconds),
    idleThresholdSeconds: seconds(
      "Grow after this long without an idle pod, even if no request waits. 0: never.",
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

/** Without defaults in the schema: other modes have no use for it, and a second apply of a file that leaves it out must find no difference. */
const demandSchema = Type.Object(
  {
    coveragePercent: Type.Optional(
      Type.Number({
        description: "Spare pods cover the requests that arrive while a pod is made, with this probability. 99 when left out.",
        minimum: 50,
        maximum: 99.9,
      }),
    ),
    emptyAfterSeconds: Type.Optional(
      count(
        "After so long without a request no spare pods are kept, and none that would be idle for longer for each request that it saves. 0: no such limit. 600 when left out.",
      ),
    ),
  },
  { description: "What mode Demand aims at. Other modes do not use it." },
);

const scheduleSchema = Type.Object(
  {
    name: text("Names the entry.", { minLength: 1, maxLength: 63 }),
    start: text("When it begins: a cron expression of five fields, such as 0 8 * * 1-5.", { minLength: 9, maxLength: 128 }),
    timeZone: Type.Optional(text("Time zone of start, such as Europe/Berlin. UTC when left out.", { maxLength: 64 })),
    durationSeconds: count("How long it lasts.", { minimum: 60, maximum: 2_678_400 }),
    minReplicas: count("Fewest pods of all members together while it lasts."),
  },
  { description: "A floor at known times." },
);

const autoscalingGroupSchema = Type.Object(
  {
    name: labelValue("The scalingGroup of its members. At least one member must have it.", { minLength: 1 }),
    enabled: Type.Optional(Type.Boolean({ description: "Off: replicas of its members are set by hand.", default: false })),
    minReplicas: Type.Optional(count("Fewest pods of all members together.", { default: 0 })),
    maxReplicas: Type.Optional(count("Most pods of all members together. No limit when left out, which mode Aggressive does not allow.")),
    scaleUpPolicy: Type.Optional(scaleUpPolicySchema),
    scaleDownPolicy: Type.Optional(scaleDownPolicySchema),
    demand: Type.Optional(demandSchema),
    schedules: Type.Optional(
      listMap(scheduleSchema, "name", { description: "Floors at known times. The highest that applies is used.", maxItems: maxSchedules }),
    ),
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

export type EnvSchedule = Frozen<Static<typeof scheduleSchema>>;
export type EnvAutoscalingGroup = Frozen<Static<typeof autoscalingGroupSchema>>;
