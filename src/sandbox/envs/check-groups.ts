/** What is wrong with the scaling groups of an Env: see check-env.ts. */
import type { EnvAutoscalingGroup } from "#model/env-autoscaling.ts";
import type { EnvClusterMember } from "#model/env-member.ts";
import { resourcesOf } from "#model/instance-types.ts";
import type { ResourceRequirements } from "#model/pod.ts";
import { quantityNumber } from "#model/quantity.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { EnvLookups, EnvProblem } from "./check-env.ts";
import { allMembers, isOnDemand, type PlacedMember, scalingGroupOf } from "./env-members.ts";
import { scheduleTrouble } from "./schedule.ts";
import { stableJson } from "#sandbox/pools/template-hash.ts";

export function checkGroups(env: SandboxEnv, lookups: EnvLookups): readonly EnvProblem[] {
  const members = Map.groupBy(allMembers(env), ({ member }) => scalingGroupOf(member));
  const groups = env.spec.autoscaling?.groups ?? [];
  return [
    ...(isOnDemand(env) ? checkNoStock(env, groups) : []),
    ...groups.flatMap((group, index) => checkGroup(group, `spec.autoscaling.groups[${index}]`, members.get(group.name) ?? [])),
    ...[...members].flatMap(([name, ofGroup]) => (name === "" ? [] : checkEqual(name, ofGroup, lookups))),
  ];
}

/** An Env that makes pods for requests only has no use for pods that are there before one. */
function checkNoStock(env: SandboxEnv, groups: readonly EnvAutoscalingGroup[]): readonly EnvProblem[] {
  const message = "mode OnDemandJob keeps no pods without a request; leave this out, or use mode WarmPool";
  const fields = [
    ...allMembers(env).flatMap(({ field, member }) => ((member.config?.minReplicas ?? 0) > 0 ? [`${field}.config.minReplicas`] : [])),
    ...groups.flatMap(({ minReplicas = 0, schedules = [] }, index) => {
      const field = `spec.autoscaling.groups[${index}]`;
      return [...(minReplicas > 0 ? [`${field}.minReplicas`] : []), ...(schedules.length > 0 ? [`${field}.schedules`] : [])];
    }),
  ];
  return fields.map((field) => ({ field, reason: "BoundsContradict", message }));
}

function checkGroup(group: EnvAutoscalingGroup, field: string, members: readonly PlacedMember[]): readonly EnvProblem[] {
  if (members.length === 0) {
    const message = `no member has config.scalingGroup ${group.name}; give it to a member, or remove the group`;
    return [{ field: `${field}.name`, reason: "GroupWithoutMembers", message }];
  }
  const needsMaximum = group.scaleUpPolicy?.mode === "Aggressive" && group.maxReplicas === undefined;
  const aggressive = "mode Aggressive needs maxReplicas: the number of pods doubles with every step";
  return [
    ...(needsMaximum ? [{ field: `${field}.maxReplicas`, reason: "MaximumNeeded", message: aggressive } as const] : []),
    ...checkBounds(group, field, members),
    ...checkSchedules(group, field),
  ];
}

/** The first one that is wrong: a group may have many, and each that is wrong takes a while to find out. */
function checkSchedules({ schedules = [] }: EnvAutoscalingGroup, field: string): readonly EnvProblem[] {
  for (const [index, schedule] of schedules.entries()) {
    const trouble = scheduleTrouble(schedule);
    if (trouble === undefined) continue;
    return [{ field: `${field}.schedules[${index}].${trouble.field}`, reason: "ScheduleInvalid", message: trouble.message }];
  }
  return [];
}

function checkBounds(group: EnvAutoscalingGroup, field: string, members: readonly PlacedMember[]): readonly EnvProblem[] {
  const { minReplicas = 0, maxReplicas = Infinity } = group;
  const configs = members.map(({ member }) => member.config ?? {});
  const highest = configs.reduce((sum, config) => sum + (config.maxReplicas ?? Infinity), 0);
  const lowest = configs.reduce((sum, config) => sum + (config.minReplicas ?? 0), 0);
  const contradiction = (where: string, message: string): EnvProblem => ({
    field: `${field}.${where}`,
    reason: "BoundsContradict",
    message,
  });
  const problems: EnvProblem[] = [];
  if (minReplicas > maxReplicas)
    problems.push(
      contradiction("minReplicas", `minReplicas ${minReplicas} is above maxReplicas ${maxReplicas}; lower one or raise the other`),
    );
  if (minReplicas > highest)
    problems.push(
      contradiction(
        "minReplicas",
        `minReplicas ${minReplicas} is above what all members together may have, ${highest}; raise their maxReplicas`,
      ),
    );
  if (lowest > maxReplicas)
    problems.push(
      contradiction("maxReplicas", `maxReplicas ${maxReplicas} is below the sum of its members' minReplicas, ${lowest}; raise it`),
    );
  const ceiling = Math.min(maxReplicas, highest);
  (group.schedules ?? []).forEach(({ name, minReplicas: floor }, index) => {
    if (floor <= ceiling) return;
    problems.push(
      contradiction(`schedules[${index}].minReplicas`, `schedule ${name} asks for ${floor} pods, and the group may have ${ceiling}`),
    );
  });
  return problems;
}

/** Pods of one group stand in for each other, so that they must be alike. */
function checkEqual(name: string, members: readonly PlacedMember[], lookups: EnvLookups): readonly EnvProblem[] {
  const [first, ...others] = members.flatMap((placed) => {
    const resources = memberResources(placed.member, lookups);
    return resources === undefined ? [] : [{ placed, text: stableJson(normal(resources)) }];
  });
  if (first === undefined) return [];
  return others
    .filter(({ text }) => text !== first.text)
    .map(({ placed, text }) => ({
      field: `${placed.field}.config.${(placed.member.config?.instanceType ?? "") === "" ? "inlineResources" : "instanceType"}`,
      reason: "ResourcesDiffer",
      message:
        `members of scaling group ${name} must have equal resources: ${placed.member.name} has ${text}, ` +
        `${first.placed.member.name} has ${first.text}; make them equal, or give one another scalingGroup`,
    }));
}

/** Undefined when that is not known, which is told elsewhere. */
function memberResources({ config = {} }: EnvClusterMember, lookups: EnvLookups): ResourceRequirements | undefined {
  const { instanceType = "", multiplier = 1, inlineResources = {} } = config;
  if (instanceType === "") return inlineResources;
  const type = lookups.instanceTypes().types.get(instanceType);
  return type && resourcesOf(type, multiplier);
}

/** 1000m is 1, and 1Gi is 1024Mi. */
function normal({ limits = {}, requests = {} }: ResourceRequirements): object {
  return {
    ...(Object.keys(limits).length > 0 && { limits: plain(limits) }),
    ...(Object.keys(requests).length > 0 && { requests: plain(requests) }),
  };
}

function plain(map: Readonly<Record<string, string | number>>): Record<string, string> {
  return Object.fromEntries(Object.entries(map).map(([name, amount]) => [name, String(rounded(quantityNumber(amount)) ?? amount)]));
}

/** Multiples of a tenth are no exact numbers. */
function rounded(amount: number | undefined): number | undefined {
  return amount === undefined ? undefined : Number(amount.toPrecision(12));
}
