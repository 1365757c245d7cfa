/**
 * The use cases of pools for every API; each throws ServiceError. The owner of a pool may change it. A pool without an owner is for every caller to use
 * and for admins to change. Another tenant's pool answers as if it did not exist (I8).
 *
 * - `find-pool.ts`   finds the pool and checks rights    - `write-pool.ts`  create, replace, delete, scale
 * - `tenant-pool-name.ts`  names of tenants' pools
 * - `pool-size.ts`, `size-log.ts`  sizes over time          - `stored-metadata.ts`  labels and annotations of a body
 */
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { Caller } from "#services/caller.ts";
import { findPool, visiblePools } from "./find-pool.ts";
import { type HappenedEvent, eventsAbout } from "#services/reading/object-events.ts";
import { type NamedPage, pageOf, type PageQuery } from "#services/reading/named-page.ts";
import { createPool, deletePool, type PoolDeps, replacePool, scalePool } from "./write-pool.ts";

/** Without a namespace: the only one of that name among those that the caller sees. */
export interface PoolName {
  readonly name: string;
  readonly namespace?: string | undefined;
}

export interface PoolService {
  list(caller: Caller, query: PageQuery & { readonly namespace?: string }): Promise<NamedPage<SandboxPool>>;
  get(caller: Caller, pool: PoolName): Promise<SandboxPool>;
  create(caller: Caller, body: SandboxPool): Promise<SandboxPool>;
  /** With a resourceVersion in the body: only if the pool is still that one. */
  replace(caller: Caller, pool: PoolName, body: SandboxPool): Promise<SandboxPool>;
  delete(caller: Caller, pool: PoolName): Promise<void>;
  scale(caller: Caller, pool: PoolName, replicas: number): Promise<SandboxPool>;
  /** Newest first. */
  events(caller: Caller, pool: PoolName): Promise<readonly HappenedEvent[]>;
}

export function poolService(deps: PoolDeps): PoolService {
  return {
    list: async (caller, { namespace, ...query }) => pageOf(visiblePools(deps, caller, namespace), query),
    get: async (caller, pool) => findPool(deps, caller, pool),
    create: (caller, body) => createPool(deps, caller, body),
    replace: (caller, pool, body) => replacePool(deps, caller, pool, body),
    delete: (caller, pool) => deletePool(deps, caller, pool),
    scale: (caller, pool, replicas) => scalePool(deps, caller, pool, replicas),
    events: async (caller, pool) => eventsAbout(deps, findPool(deps, caller, pool)),
  };
}
