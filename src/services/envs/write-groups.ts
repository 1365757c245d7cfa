/** The scaling policy of one group of an Env: set and taken away, each as a patch of that one list entry. */
import type { EnvAutoscalingGroup } from "#model/env-autoscaling.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { Caller } from "../caller.ts";
import { ServiceError } from "../service-error.ts";
import { wrong } from "#services/pools/stored-metadata.ts";
import type { EnvDeps, EnvName } from "./env-deps.ts";
import { groupPatch, groupsOf, withGroup } from "./env-parts.ts";
import { checkEnvOf } from "./prepare-env.ts";
import { changedEnv, patchEnv } from "./write-env.ts";

/** One group of an Env. */
export interface GroupName {
  readonly env: EnvName;
  readonly group: string;
}

/** A group whose name need not be said again. */
export type GroupBody = Omit<EnvAutoscalingGroup, "name"> & { readonly name?: string };

export function findGroup(env: SandboxEnv, name: string): EnvAutoscalingGroup {
  const group = groupsOf(env).find((one) => one.name === name);
  if (group !== undefined) return group;
  throw new ServiceError("not_found", `Env ${JSON.stringify(env.metadata.name ?? "")} has no policy for a group ${JSON.stringify(name)}`);
}

/** Replaces the policy whole, or adds it. */
export async function putGroup(deps: EnvDeps, caller: Caller, wanted: GroupName, body: GroupBody): Promise<EnvAutoscalingGroup> {
  if (body.name !== undefined && body.name !== wanted.group) throw wrong("name", `must be ${wanted.group}, or left out`);
  const group = { ...body, name: wanted.group };
  const env = await changedEnv(deps, { caller, wanted: wanted.env }, async (present) => {
    checkEnvOf(deps, caller, withGroup(present, group.name, group));
    return await patchEnv(deps, present, groupPatch(present, group.name, group));
  });
  return findGroup(env, wanted.group);
}

/** From then on the replicas of its members are set by hand. */
export async function deleteGroup(deps: EnvDeps, caller: Caller, wanted: GroupName): Promise<void> {
  await changedEnv(deps, { caller, wanted: wanted.env }, async (present) => {
    findGroup(present, wanted.group);
    checkEnvOf(deps, caller, withGroup(present, wanted.group, undefined));
    return await patchEnv(deps, present, groupPatch(present, wanted.group, undefined));
  });
}
