/**
 * What is wrong with an Env that its schema cannot see, because it needs other objects or several parts of the Env. Pure; the REST service
 * refuses with it, and the Env controller says it in a condition and then makes and changes nothing. Its parts: `check-members.ts`,
 * `check-groups.ts`, and `schedule.ts` for cron expressions.
 */
import type { InstanceTypes } from "#model/instance-types.ts";
import { annotationKeys } from "#model/keys.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import { checkGroups } from "./check-groups.ts";
import { checkInstance, checkMember } from "./check-members.ts";
import { allMembers, hasSnapshot, isAdopted, membersIn, type PlacedMember } from "./env-members.ts";

export const envProblemReasons = [
  "NoMembers",
  "TemplateMissing",
  "TemplateInvalid",
  "TemplateVersionMissing",
  "InstanceTypeMissing",
  "MultiplierOutOfRange",
  "DefaultsNotOffered",
  "ReservedKey",
  "PoolNameTaken",
  "GroupWithoutMembers",
  "ResourcesDiffer",
  "MaximumNeeded",
  "BoundsContradict",
  "ScheduleInvalid",
] as const;

/** Whether the Env has to be changed, or what it names has to be made, before pools can be. */
export function isEnvProblem(reason: string): boolean {
  return envProblemReasons.some((known) => known === reason);
}

export interface EnvProblem {
  /** Path in the Env, such as spec.clusters[0].members[1].config.multiplier. */
  readonly field: string;
  readonly reason: (typeof envProblemReasons)[number];
  /** What is wrong and what would be right. */
  readonly message: string;
}

/** What an Env is checked against: its namespace in one cluster. */
export interface EnvLookups {
  readonly clusterID: string;
  template(name: string): SandboxTemplate | undefined;
  instanceTypes(): InstanceTypes;
  /** In the Env's namespace. */
  pool(name: string): SandboxPool | undefined;
  /** Envs of the same namespace that have a member of this name in this cluster; the Env itself may be among them. */
  envsWithMember(name: string): Iterable<SandboxEnv>;
}

/** Empty when all is well. The first is the one to tell when only one can be told. */
export function checkEnv(env: SandboxEnv, lookups: EnvLookups): readonly EnvProblem[] {
  const members = allMembers(env);
  if (members.length === 0) {
    const message = `the Env has no members, so no pool serves it; add one: {clusterID: ${lookups.clusterID}, members: [{name: ${env.metadata.name ?? "a-pool"}}]}`;
    return [{ field: "spec.clusters", reason: "NoMembers", message }, ...checkGroups(env, lookups)];
  }
  return [
    ...checkTemplate(env, lookups),
    ...checkDefaults(env, members, lookups),
    ...members.flatMap((placed) => checkMember(env, placed, lookups)),
    ...checkGroups(env, lookups),
  ];
}

/** Members that were made already do not need it, as long as all of them were made from it. */
function checkTemplate(env: SandboxEnv, lookups: EnvLookups): readonly EnvProblem[] {
  const { name, version = "" } = env.spec.templateRef;
  const here = membersIn(env, lookups.clusterID).filter(({ member }) => !isAdopted(env, member.name));
  const template = lookups.template(name);
  if (template === undefined) {
    if (here.every(({ member }) => hasSnapshot(member) && member.metadata?.annotations?.[annotationKeys.templateName] === name)) return [];
    const message = `there is no SandboxTemplate ${name}; create it, or name one that exists`;
    return [{ field: "spec.templateRef.name", reason: "TemplateMissing", message }];
  }
  if ((template.spec.template?.spec?.containers ?? []).length === 0 && here.length > 0) {
    const message = `the template ${name} has no pod with a container in spec.template, so that pools cannot be made from it`;
    return [{ field: "spec.templateRef.name", reason: "TemplateInvalid", message }];
  }
  return checkVersion({ name, version, current: template.spec.version ?? "" }, here);
}

interface Versions {
  readonly name: string;
  readonly version: string;
  readonly current: string;
}

/** Only the current version can be had anew; of an earlier one there are the copies that members have. */
function checkVersion({ name, version, current }: Versions, here: readonly PlacedMember[]): readonly EnvProblem[] {
  if (version === "" || version === current) return [];
  const lacking = here.find(
    ({ member }) => !hasSnapshot(member) || member.metadata?.annotations?.[annotationKeys.templateVersion] !== version,
  );
  const someHave = here.some(({ member }) => member.metadata?.annotations?.[annotationKeys.templateVersion] === version);
  if (lacking === undefined || (someHave && hasSnapshot(lacking.member))) return [];
  const now = current === "" ? `the template ${name} has no version` : `the template ${name} is at version ${current}`;
  const right = current === "" ? "leave version out" : `use ${current}, or leave version out`;
  const message = `${now}, and member ${lacking.member.name} was not made from ${version}; ${right}`;
  return [{ field: "spec.templateRef.version", reason: "TemplateVersionMissing", message }];
}

/** A default that no member offers would refuse every request that does not say its size. */
function checkDefaults({ spec }: SandboxEnv, members: readonly PlacedMember[], lookups: EnvLookups): readonly EnvProblem[] {
  const { instanceType = "", multiplier = 1 } = spec.defaults ?? {};
  if (instanceType === "") return [];
  const unknown = checkInstance({ instanceType, multiplier }, "spec.defaults", lookups);
  if (unknown.length > 0) return unknown;
  const isOffered = members.some(({ member: { config } }) => config?.instanceType === instanceType && config.multiplier === multiplier);
  if (isOffered) return [];
  const message = `no member has instanceType ${instanceType} with multiplier ${multiplier}; use the size of a member, or add a member of this size`;
  return [{ field: "spec.defaults.instanceType", reason: "DefaultsNotOffered", message }];
}
