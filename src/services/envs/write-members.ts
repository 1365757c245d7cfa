/** Adding, changing, scaling and removing one member of an Env in this server's cluster. Each is a patch of that one list entry. */
import type { EnvClusterMember } from "#model/env-member.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import { allMembers, isScaled, scalingGroupOf } from "#sandbox/envs/env-members.ts";
import type { Caller } from "../caller.ts";
import { ServiceError } from "../service-error.ts";
import { wrong } from "#services/pools/stored-metadata.ts";
import type { EnvDeps, EnvName, MemberWish } from "./env-deps.ts";
import { placeOf } from "./env-limits.ts";
import { groupsOf, memberPatch, membersHere, withMember } from "./env-parts.ts";
import { checkEnvOf, localCluster, writePrepared } from "./prepare-env.ts";
import { storedMember } from "./stored-env.ts";
import { changedEnv, patchEnv } from "./write-env.ts";

/** One member of an Env. */
export interface MemberName {
  readonly env: EnvName;
  readonly member: string;
}

/** An Env after a write to one of its members. */
export interface MemberWritten {
  readonly env: SandboxEnv;
  readonly name: string;
}

export async function addMember(
  deps: EnvDeps,
  caller: Caller,
  { wanted, wish }: { readonly wanted: EnvName; readonly wish: MemberWish },
  signal: AbortSignal,
): Promise<MemberWritten> {
  const clusterID = localCluster(deps);
  let name = "";
  const env = await changedEnv(deps, { caller, wanted }, async (present) => {
    const taken = new Set(allMembers(present).map(({ member }) => member.name));
    const member = storedMember({ caller, env: present, present: undefined, clusterID }, wish, { field: "", taken });
    ({ name } = member);
    if (membersHere(present, clusterID).some((one) => one.name === name)) {
      throw new ServiceError("conflict", `Env ${wanted.name} has a member ${JSON.stringify(name)} already`, { field: "name" });
    }
    return written(deps, { caller, present, clusterID, member }, signal);
  });
  return { env, name };
}

/** The config is replaced whole; replicas that are left out stay. */
export async function updateMember(
  deps: EnvDeps,
  caller: Caller,
  { wanted, wish }: { readonly wanted: MemberName; readonly wish: MemberWish },
  signal: AbortSignal,
): Promise<MemberWritten> {
  const clusterID = localCluster(deps);
  const { member: name } = wanted;
  if (wish.name !== undefined && wish.name !== name) throw wrong("name", `must be ${name}, or left out`);
  const env = await changedEnv(deps, { caller, wanted: wanted.env }, async (present) => {
    const known = findLocalMember(present, wanted, clusterID);
    const { config = {}, replicas } = wish;
    if (replicas !== undefined && replicas !== known.spec?.replicas) checkScaledByHand(present, { ...known, config });
    // The name is one that is stored, so it gets no mark again.
    const next: EnvClusterMember = { ...known, config, spec: { ...known.spec, replicas: replicas ?? known.spec?.replicas ?? 0 } };
    return written(deps, { caller, present, clusterID, member: next }, signal);
  });
  return { env, name };
}

interface WriteRequest {
  readonly caller: Caller;
  readonly present: SandboxEnv;
  readonly clusterID: string;
  readonly member: EnvClusterMember;
}

async function written(deps: EnvDeps, { caller, present, clusterID, member }: WriteRequest, signal: AbortSignal): Promise<SandboxEnv> {
  const next = withMember(present, clusterID, member.name, member);
  return await writePrepared(deps, { caller, next, present }, signal, async (prepared) => {
    const ready = membersHere(prepared, clusterID).find((one) => one.name === member.name);
    return await patchEnv(deps, present, memberPatch(present, clusterID, member.name, ready));
  });
}

export async function scaleMember(deps: EnvDeps, caller: Caller, wanted: MemberName, replicas: number): Promise<MemberWritten> {
  const clusterID = localCluster(deps);
  const env = await changedEnv(deps, { caller, wanted: wanted.env }, async (present) => {
    const known = findLocalMember(present, wanted, clusterID);
    checkScaledByHand(present, known);
    const next = { ...known, spec: { ...known.spec, replicas } };
    using _ = placeOf(deps, withMember(present, clusterID, known.name, next), present);
    return await patchEnv(deps, present, memberPatch(present, clusterID, known.name, next));
  });
  return { env, name: wanted.member };
}

export async function removeMember(deps: EnvDeps, caller: Caller, wanted: MemberName): Promise<void> {
  const clusterID = localCluster(deps);
  await changedEnv(deps, { caller, wanted: wanted.env }, async (present) => {
    const known = findLocalMember(present, wanted, clusterID);
    const next = withMember(present, clusterID, known.name, undefined);
    checkRemovable(present, next, known);
    checkEnvOf(deps, caller, next);
    return await patchEnv(deps, present, memberPatch(present, clusterID, known.name, undefined));
  });
}

/** Said here in the words of what the caller does; the checks of the Env itself would name fields that the caller did not send. */
function checkRemovable(present: SandboxEnv, next: SandboxEnv, removed: EnvClusterMember): void {
  const { name } = removed;
  const envName = present.metadata.name ?? "";
  if (allMembers(next).length === 0) {
    throw new ServiceError("conflict", `${name} is the last member of Env ${envName}: delete the Env instead`);
  }
  const group = scalingGroupOf(removed);
  const isLast = !allMembers(next).some(({ member }) => scalingGroupOf(member) === group);
  if (!isLast || !groupsOf(next).some((one) => one.name === group)) return;
  throw new ServiceError("conflict", `${name} is the last member of scaling group ${group}: delete the group first`);
}

/** Throws not_found, and a conflict for a member of another cluster. */
function findLocalMember(env: SandboxEnv, { env: { name: envName }, member }: MemberName, clusterID: string): EnvClusterMember {
  const placed = allMembers(env).filter((one) => one.member.name === member);
  const local = placed.find((one) => one.clusterID === clusterID);
  if (local !== undefined) return local.member;
  if (placed[0] === undefined) throw noSuchMember(envName, member);
  throw new ServiceError("conflict", `member ${member} belongs to cluster ${placed[0].clusterID}: change it at the server there`);
}

export function noSuchMember(env: string, member: string): ServiceError {
  return new ServiceError("not_found", `Env ${JSON.stringify(env)} has no member ${JSON.stringify(member)}`);
}

/** Throws a conflict where something else sets the number. */
function checkScaledByHand(env: SandboxEnv, member: EnvClusterMember): void {
  if (env.spec.mode === "OnDemandJob") {
    throw new ServiceError(
      "conflict",
      `Env ${env.metadata.name ?? ""} creates a pod for each request (mode OnDemandJob) and keeps no idle pods`,
    );
  }
  if (!isScaled(env, member)) return;
  const message = `member ${member.name} is in group ${scalingGroupOf(member)}: its autoscaler sets replicas; change minReplicas/maxReplicas or disable the group`;
  throw new ServiceError("conflict", message, { field: "replicas" });
}
