/**
 * Brings members of an Env to its template as it is now: a new version of the template does not reach them by itself. All members that are
 * asked for are admitted before one is changed, and they are changed in one patch: all or none. Their pools roll as pools do, over idle
 * pods; sandboxes that run are not touched.
 */
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { EnvClusterMember } from "#model/env-member.ts";
import { annotationKeys } from "#model/keys.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import { isAdopted } from "#sandbox/envs/env-members.ts";
import type { MemberChange, RefreshPlan } from "#sandbox/envs/refresh-member.ts";
import type { Caller } from "../caller.ts";
import { ServiceError } from "../service-error.ts";
import { previewed, refreshed } from "./admit-snapshot.ts";
import type { EnvDeps, EnvName } from "./env-deps.ts";
import { memberPatch, membersHere } from "./env-parts.ts";
import { findEnv } from "./find-env.ts";
import { checkEnvOf, localCluster } from "./prepare-env.ts";
import { changedEnv, patchEnv } from "./write-env.ts";
import { noSuchMember } from "./write-members.ts";

export interface RefreshEnv {
  readonly wanted: EnvName;
  /** All members of this server's cluster when left out. */
  readonly member?: string | undefined;
  /** Only say what would change; plugins are not asked. */
  readonly dryRun: boolean;
}

export interface RefreshedMember {
  readonly name: string;
  readonly templateVersion: { readonly from?: string; readonly to?: string };
  /** Empty: the member is up to date. */
  readonly changes: readonly MemberChange[];
}

export interface EnvRefresh {
  readonly dryRun: boolean;
  readonly members: readonly RefreshedMember[];
}

export async function refreshEnv(deps: EnvDeps, caller: Caller, asked: RefreshEnv, signal: AbortSignal): Promise<EnvRefresh> {
  const { wanted, dryRun } = asked;
  const clusterID = localCluster(deps);
  if (dryRun) {
    const plans = await plansFor(deps, { caller, env: findEnv(deps, caller, wanted), asked }, signal);
    return { dryRun, members: plans.map(shown) };
  }
  let plans: readonly Plan[] = [];
  await changedEnv(deps, { caller, wanted }, async (present) => {
    plans = await plansFor(deps, { caller, env: present, asked }, signal);
    const changed = plans.filter(({ changes }) => changes.length > 0);
    return await patchEnv(
      deps,
      present,
      changed.flatMap(({ member }) => memberPatch(present, clusterID, member.name, member)),
    );
  });
  return { dryRun, members: plans.map(shown) };
}

interface Plan extends RefreshPlan {
  readonly before: EnvClusterMember;
}

interface PlanRequest {
  readonly caller: Caller;
  readonly env: SandboxEnv;
  readonly asked: RefreshEnv;
}

async function plansFor(deps: EnvDeps, { caller, env, asked }: PlanRequest, signal: AbortSignal): Promise<readonly Plan[]> {
  const plan = asked.dryRun ? previewed : refreshed;
  checkEnvOf(deps, caller, env);
  const plans: Plan[] = [];
  for (const before of chosen(env, asked, localCluster(deps))) {
    plans.push({ before, ...(await plan(deps, { caller, env, member: before }, signal)) });
  }
  return plans;
}

/** An adopted pool was not made from the template of the Env, so there is nothing to bring it to. */
function chosen(env: SandboxEnv, { wanted, member }: RefreshEnv, clusterID: string): readonly EnvClusterMember[] {
  const here = membersHere(env, clusterID);
  if (member === undefined) return here.filter(({ name }) => !isAdopted(env, name));
  if (!here.some(({ name }) => name === member)) throw noSuchMember(wanted.name, member);
  if (isAdopted(env, member)) {
    throw new ServiceError("conflict", `member ${member} is an adopted pool: change the template in the pool itself`);
  }
  return here.filter(({ name }) => name === member);
}

function shown({ before, member, changes }: Plan): RefreshedMember {
  return {
    name: before.name,
    templateVersion: withoutUndefined({ from: versionOf(before), to: versionOf(member) }),
    changes,
  };
}

function versionOf({ metadata }: EnvClusterMember): string | undefined {
  return metadata?.annotations?.[annotationKeys.templateVersion];
}
