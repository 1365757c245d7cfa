/** Which pool a caller means, and whether the caller may change it. */
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { hasEnvOwner, labelKeys } from "#model/keys.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { type Caller, mayUse, owns } from "#services/caller.ts";
import { mayUseEnvOf } from "#services/creating/create-source.ts";
import type { PoolName } from "./pool-service.ts";
import { ServiceError } from "#services/service-error.ts";

export interface FindPoolDeps {
  readonly cache: Pick<SandboxCache, "pools" | "listPools" | "envs">;
}

export function visiblePools(deps: FindPoolDeps, caller: Caller, namespace: string | undefined): IteratorObject<SandboxPool, undefined> {
  return deps.cache.listPools({ namespace }).filter((pool) => visiblePool(deps.cache, caller, pool));
}

export function visiblePool(cache: FindPoolDeps["cache"], caller: Caller, pool: SandboxPool): boolean {
  return mayUse(caller, pool) && mayUseEnvOf({ cache }, caller, pool);
}

export function noSuchPool({ name, namespace }: PoolName): ServiceError {
  const where = namespace === undefined ? "" : ` in namespace ${JSON.stringify(namespace)}`;
  return new ServiceError("not_found", `there is no pool ${JSON.stringify(name)}${where}`);
}

export function findPool(deps: FindPoolDeps, caller: Caller, wanted: PoolName): SandboxPool {
  const pools = visiblePools(deps, caller, wanted.namespace)
    .filter(({ metadata }) => metadata.name === wanted.name)
    .toArray();
  const [pool] = pools;
  if (pool === undefined) throw noSuchPool(wanted);
  if (pools.length === 1) return pool;
  const available = pools.map(({ metadata }) => `${metadata.namespace ?? ""}/${metadata.name ?? ""}`);
  const message = `there are several pools ${JSON.stringify(wanted.name)}: add the namespace`;
  throw new ServiceError("conflict", message, { field: "namespace", available });
}

/** Throws `forbidden` for a pool that the caller sees and does not own, and a conflict for one that an Env keeps as it is. */
export function checkMayChange(caller: Caller, pool: SandboxPool): void {
  const name = pool.metadata.name ?? "";
  if (!owns(caller, pool)) throw new ServiceError("forbidden", `pool ${name} belongs to another owner and cannot be changed with this key`);
  if (!hasEnvOwner(pool)) return;
  const env = pool.metadata.labels?.[labelKeys.env] ?? "";
  const message = `pool ${name} belongs to Env ${env}: change it there, for example with agentbox envs scale ${env}/${name} N`;
  throw new ServiceError("conflict", message);
}
