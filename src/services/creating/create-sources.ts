/** What there is to create sandboxes from, for APIs that list it: Envs, and pools that belong to no Env. */
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { eligibleMembers } from "#scheduling/route-to-pools.ts";
import type { Caller } from "#services/caller.ts";
import { type CreateSource, type CreateSourceDeps, findSource, listSources } from "./create-source.ts";
import { memberPool, priorityOf } from "./env-members.ts";

export interface ShownSource {
  readonly kind: "env" | "pool";
  readonly object: SandboxEnv | SandboxPool;
  /** Those of the Env, or the one pool. */
  readonly pools: readonly SandboxPool[];
  /** The member that a request without wishes is meant for; an Env may have none yet. */
  readonly defaultPool?: SandboxPool;
}

export interface CreateSources {
  list(caller: Caller): readonly ShownSource[];
  /** `from`: as a create has it. Throws not_found. */
  get(caller: Caller, from: string): ShownSource;
}

export function createSources(deps: CreateSourceDeps): CreateSources {
  return {
    list: (caller) => listSources(deps, caller).map(shownSource).toArray(),
    get: (caller, from) => shownSource(findSource(deps, caller, from)),
  };
}

function shownSource({ env, pools, isPool, what }: CreateSource): ShownSource {
  const [named] = pools;
  if (isPool && named !== undefined) return { kind: "pool", object: named, pools, defaultPool: named };
  if (env === undefined) throw new Error(`${what} is neither an Env nor a pool`);
  const members = pools.map((pool) => memberPool(env, pool));
  const eligible = eligibleMembers({ what, defaults: env.spec.defaults }, members, {});
  const [first] = eligible.kind === "members" ? [...eligible.members].sort(byPriority(env)) : [];
  return { kind: "env", object: env, pools, ...(first === undefined ? {} : { defaultPool: first.object }) };
}

function byPriority(env: SandboxEnv): (left: Named, right: Named) => number {
  return ({ pool: left }, { pool: right }) => priorityOf(env, left.name) - priorityOf(env, right.name) || (left.name < right.name ? -1 : 1);
}

interface Named {
  readonly pool: { readonly name: string };
}
