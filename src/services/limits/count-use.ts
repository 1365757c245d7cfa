/**
 * How much teams have of what is limited, from the cache. What goes away counts until it is gone: its pods are there as long. A member of an
 * Env counts from the moment that it is written, as the pool that is going to be made of it.
 */
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { apiKeySecretType, labelKeys, localClusterID } from "#model/keys.ts";
import type { ApiObject } from "#model/meta.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { firstReplicas, membersIn } from "#sandbox/envs/env-members.ts";
import type { HistoryScope } from "#store/history-store.ts";
import type { LiveSandboxes } from "#services/reading/live-sandboxes.ts";
import type { CountUse, LimitGuardDeps } from "./limit-guard.ts";

/** `clusterID`: whose members have their pools in this cache; that of the embedded engine when left out. */
export function countUse(
  cache: PoolCache & Pick<SandboxCache, "poolsOfTeam" | "templates" | "system" | "checkpoints">,
  clusterID = localClusterID,
): LimitGuardDeps["use"] {
  const poolsOf = (team: string | undefined): IteratorObject<SandboxPool, undefined> =>
    team === undefined ? cache.listPools() : cache.poolsOfTeam(team);
  const coming = (team: string | undefined): IteratorObject<number, undefined> => comingPools(cache, clusterID, team);
  return {
    pods: (team) =>
      coming(team).reduce(
        (sum, replicas) => sum + replicas,
        poolsOf(team).reduce((sum, pool) => sum + pool.spec.replicas, 0),
      ),
    pools: (team) =>
      coming(team).reduce(
        (sum) => sum + 1,
        poolsOf(team).reduce((sum) => sum + 1, 0),
      ),
    envs: (team) =>
      cache.envs.objects
        .list()
        .filter((env) => isOf(env, team))
        .reduce((sum) => sum + 1, 0),
    idlePods: (team, user) => poolsOf(team).reduce((sum, pool) => (isOfUser(pool, user) ? sum + idleIn(pool) : sum), 0),
    keys: (team) =>
      cache.system?.secrets.objects
        .list()
        .reduce((sum, secret) => (secret.type === apiKeySecretType && isOf(secret, team) ? sum + 1 : sum), 0) ?? 0,
    checkpoints: (team) =>
      cache.checkpoints.objects
        .list()
        .filter((checkpoint) => isOf(checkpoint, team) && checkpoint.metadata.deletionTimestamp === undefined)
        .reduce((sum) => sum + 1, 0),
    templates: () => cache.templates.objects.list().reduce((sum) => sum + 1, 0),
  };
}

type PoolCache = Pick<SandboxCache, "listPools" | "pools" | "envs">;

/** Replicas of each member whose pool is not there yet. */
function comingPools({ envs, pools }: PoolCache, clusterID: string, team: string | undefined): IteratorObject<number, undefined> {
  return envs.objects
    .list()
    .filter((env) => isOf(env, team) && env.metadata.deletionTimestamp === undefined)
    .flatMap((env) =>
      membersIn(env, clusterID)
        .filter(({ member }) => pools.get({ namespace: env.metadata.namespace, name: member.name }) === undefined)
        .map(({ member }) => firstReplicas(env, member)),
    );
}

/** Sandboxes that stop are not counted: after an end the next create is granted at once. Those without a pod count as the checkpoints that they are. */
export function countSandboxes(live: Pick<LiveSandboxes, "counts">): CountUse {
  return (team, user) => {
    const { total, byStatus, deepPaused } = live.counts(scopeOf(team, user));
    return total - deepPaused - (byStatus.get("Stopping") ?? 0);
  };
}

/** What live sandboxes may use: in cores and MiB. */
export function countTaken(live: Pick<LiveSandboxes, "counts">): Readonly<Record<"cpu" | "memoryMiB", CountUse>> {
  return {
    cpu: (team, user) => live.counts(scopeOf(team, user)).cpuMilli / 1000,
    memoryMiB: (team, user) => live.counts(scopeOf(team, user)).memoryBytes / 2 ** 20,
  };
}

function scopeOf(team: string | undefined, user: string | undefined): HistoryScope {
  if (team === undefined) return { kind: "admin" };
  return { kind: "tenant", team, ...(user !== undefined && { user }) };
}

function isOfUser({ metadata: { labels } }: SandboxPool, user: string | undefined): boolean {
  return user === undefined || labels?.[labelKeys.user] === user;
}

/** As its numbers say: what is wanted, without what has a sandbox. */
function idleIn({ spec, status }: SandboxPool): number {
  return Math.max(0, spec.replicas - (status?.runningReplicas ?? 0) - (status?.startingReplicas ?? 0));
}

function isOf({ metadata: { labels } }: ApiObject, team: string | undefined): boolean {
  return team === undefined || labels?.[labelKeys.team] === team;
}
