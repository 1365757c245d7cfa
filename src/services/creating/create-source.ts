/** What a create names: an Env, or a pool. An Env goes before a pool of the same name. */
import { keyOf } from "#kube/informer/indexed-store.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { labelKeys } from "#model/keys.ts";
import type { ApiObject } from "#model/meta.ts";
import { isReadyTemplate } from "#model/ready-templates.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { type Caller, mayUse } from "#services/caller.ts";
import { ServiceError } from "#services/service-error.ts";

export interface CreateSource {
  /** As errors call it, such as `Env base`. */
  readonly what: string;
  /** The Env that was named, or that the named pool belongs to. */
  readonly env?: SandboxEnv;
  /** The pools that the caller may use: those of the Env, or the one that was named. */
  readonly pools: readonly SandboxPool[];
  /** Whether the pool was named, and not its Env. */
  readonly isPool: boolean;
}

export interface CreateSourceDeps {
  readonly cache: Pick<SandboxCache, "envs" | "pools" | "poolsOfEnv" | "listPools">;
  /** Where Envs and pools are that are named without a namespace; `default` when left out. */
  readonly poolNamespace?: string | undefined;
}

const defaultNamespace = "default";
/** Enough to see a typing mistake by. */
const maxAvailable = 20;

/** `from`: name, or namespace/name. What is foreign, being deleted, or never existed is the same to a caller (I8): throws not_found. */
export function findSource(deps: CreateSourceDeps, caller: Caller, from: string): CreateSource {
  const source = namedSource(deps, caller, from);
  if (source !== undefined) return source;
  const { poolNamespace = defaultNamespace } = deps;
  const available = listSources(deps, caller)
    .take(maxAvailable)
    .map((one) => shownName(one.isPool ? one.pools[0] : one.env, poolNamespace))
    .toArray();
  const hint = isReadyTemplate(from) ? `; an administrator can build it: agentbox template add ${from}` : "";
  throw new ServiceError("not_found", `there is no Env, pool or checkpoint ${JSON.stringify(from)}${hint}`, { field: "from", available });
}

/** Undefined if there is none for this caller. */
export function namedSource(deps: CreateSourceDeps, caller: Caller, from: string): CreateSource | undefined {
  const { poolNamespace = defaultNamespace, cache } = deps;
  const slash = from.indexOf("/");
  const key = { namespace: slash === -1 ? poolNamespace : from.slice(0, slash), name: from.slice(slash + 1) };
  const env = cache.envs.get(key);
  if (env !== undefined && isOffered(caller, env)) return envSource(deps, caller, env);
  const pool = cache.pools.get(key);
  if (pool !== undefined && isOffered(caller, pool) && mayUseEnvOf(deps, caller, pool)) return poolSource(deps, pool);
  return undefined;
}

/** All that the caller may create from: Envs, then pools that belong to none. Read as far as it is asked for. */
export function* listSources(deps: CreateSourceDeps, caller: Caller): Generator<CreateSource, undefined> {
  for (const env of deps.cache.envs.objects.list()) if (isOffered(caller, env)) yield envSource(deps, caller, env);
  for (const pool of deps.cache.listPools()) {
    if (isOffered(caller, pool) && envOf(deps, pool) === undefined) yield poolSource(deps, pool);
  }
}

function envSource({ cache }: CreateSourceDeps, caller: Caller, env: SandboxEnv): CreateSource {
  const pools = cache
    .poolsOfEnv(keyOf(env))
    .filter((pool) => mayUse(caller, pool))
    .toArray();
  return { what: `Env ${env.metadata.name ?? ""}`, env, pools, isPool: false };
}

function poolSource(deps: CreateSourceDeps, pool: SandboxPool): CreateSource {
  const env = envOf(deps, pool);
  return { what: `pool ${pool.metadata.name ?? ""}`, pools: [pool], isPool: true, ...(env === undefined ? {} : { env }) };
}

/** The Env that a pool is a member of. */
function envOf(
  { cache }: { readonly cache: Pick<SandboxCache, "envs"> },
  { metadata: { namespace, labels } }: SandboxPool,
): SandboxEnv | undefined {
  const name = labels?.[labelKeys.env];
  return name === undefined ? undefined : cache.envs.get({ namespace, name });
}

/** The pools of an Env serve every caller that may use the Env, whatever the pools' own labels say. */
export function mayUseEnvOf(deps: { readonly cache: Pick<SandboxCache, "envs"> }, caller: Caller, pool: SandboxPool): boolean {
  const env = envOf(deps, pool);
  return env === undefined || mayUse(caller, env);
}

function isOffered(caller: Caller, object: ApiObject): boolean {
  return object.metadata.deletionTimestamp === undefined && mayUse(caller, object);
}

function shownName(object: ApiObject | undefined, poolNamespace: string): string {
  const { namespace = "", name = "" } = object?.metadata ?? {};
  return namespace === poolNamespace ? name : `${namespace}/${name}`;
}
