/**
 * The use cases of pools, as every API sees them; each throws ServiceError. Whoever owns a pool may change it. One without an owner is
 * everybody's to use and an admin's to change, and somebody else's is as if it did not exist (I8).
 *
 * Beside it: `find-pool.ts` (which pool is meant, and who may do what), `stored-pool.ts` (what of a body is written down),
 * `write-pool.ts` (create, replace, delete, scale), `tenant-pool-name.ts` (what tenants' pools are called), `object-events.ts` (what
 * happened to it).
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
