/** What is wrong with single members of an Env: see check-env.ts. */
import { instanceTypeFault, multiplierFault } from "#model/instance-types.ts";
import { isReservedKey } from "#model/keys.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { EnvLookups, EnvProblem } from "./check-env.ts";
import { isAdopted, isOwnedBy, type PlacedMember } from "./env-members.ts";

export function checkMember(env: SandboxEnv, placed: PlacedMember, lookups: EnvLookups): readonly EnvProblem[] {
  const { member, field, clusterID } = placed;
  const config = member.config ?? {};
  const isHere = clusterID === lookups.clusterID;
  return [
    ...(isHere ? checkInstance(config, `${field}.config`, lookups) : []),
    ...checkBounds(placed),
    ...checkKeys(config.labels, `${field}.config.labels`),
    ...checkKeys(config.annotations, `${field}.config.annotations`),
    ...(isHere ? checkName(env, placed, lookups) : []),
  ];
}

interface Sized {
  readonly instanceType?: string | undefined;
  readonly multiplier?: number | undefined;
}

export function checkInstance({ instanceType = "", multiplier = 1 }: Sized, field: string, lookups: EnvLookups): readonly EnvProblem[] {
  if (instanceType === "") return [];
  const types = lookups.instanceTypes();
  const unknown = instanceTypeFault(types, instanceType);
  if (unknown !== undefined) return [{ field: `${field}.instanceType`, reason: "InstanceTypeMissing", message: unknown }];
  const type = types.types.get(instanceType);
  const fault = type && multiplierFault(type, multiplier);
  return fault === undefined ? [] : [{ field: `${field}.multiplier`, reason: "MultiplierOutOfRange", message: fault }];
}

function checkBounds({ member: { config }, field }: PlacedMember): readonly EnvProblem[] {
  const { minReplicas, maxReplicas } = config ?? {};
  if (minReplicas === undefined || maxReplicas === undefined || minReplicas <= maxReplicas) return [];
  const message = `minReplicas ${minReplicas} is above maxReplicas ${maxReplicas}; lower one or raise the other`;
  return [{ field: `${field}.config.minReplicas`, reason: "BoundsContradict", message }];
}

function checkKeys(map: Readonly<Record<string, string>> = {}, field: string): readonly EnvProblem[] {
  return Object.keys(map)
    .filter(isReservedKey)
    .map((key) => ({ field: `${field}[${key}]`, reason: "ReservedKey", message: `${key} belongs to AgentBox; use a prefix of your own` }));
}

/** A pool belongs to one Env. The Env that has it keeps it; before there is one, the oldest Env gets it. */
function checkName(env: SandboxEnv, { member: { name }, field }: PlacedMember, lookups: EnvLookups): readonly EnvProblem[] {
  const taken = (by: string): readonly EnvProblem[] => [
    { field: `${field}.name`, reason: "PoolNameTaken", message: `the pool name ${name} is taken by ${by}; choose another member name` },
  ];
  const pool = lookups.pool(name);
  if (pool !== undefined && isOwnedBy(pool, env)) return [];
  const others = [...lookups.envsWithMember(name)].filter((other) => !isSame(other, env));
  const owner = pool && others.find((other) => isOwnedBy(pool, other));
  if (owner !== undefined) return taken(`Env ${owner.metadata.name ?? ""}`);
  if (pool !== undefined && !isAdopted(env, name)) {
    const going = pool.metadata.deletionTimestamp === undefined ? "" : ", which is being deleted";
    return taken(`a SandboxPool that does not belong to this Env${going}`);
  }
  const earlier = others.find((other) => isEarlier(other, env));
  return earlier === undefined ? [] : taken(`Env ${earlier.metadata.name ?? ""}, which names it too`);
}

function isSame({ metadata: one }: SandboxEnv, { metadata: other }: SandboxEnv): boolean {
  return one.name === other.name && one.namespace === other.namespace;
}

/** One that the server has not seen yet comes last. */
function isEarlier({ metadata: one }: SandboxEnv, { metadata: other }: SandboxEnv): boolean {
  if (one.deletionTimestamp !== undefined) return false;
  if (other.creationTimestamp === undefined) return true;
  const [left, right] = [one.creationTimestamp ?? "9", other.creationTimestamp];
  return left === right ? (one.name ?? "") < (other.name ?? "") : left < right;
}
