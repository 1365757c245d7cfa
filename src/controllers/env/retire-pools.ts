/**
 * Pools that an Env has no member for any more. Running sandboxes run on until they end: the pool is emptied of idle pods first and deleted
 * with its last pod, because a deleted pool takes its sandboxes along. Where the annotation end-sandboxes says so, it is deleted at once.
 * Adopted pools are given back as they were.
 */
import { isLostRace } from "#kube/lost-race.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { JsonObject } from "#model/meta.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { isOwnedBy } from "#sandbox/envs/env-members.ts";
import { countPods, type PoolCounts } from "#controllers/pool/status/pool-counts.ts";
import { type EnvTools, keyOf } from "./env-deps.ts";
import { isControlledBy } from "./plan-member.ts";
import { tellEnv } from "./tell-env.ts";

/** The pools that the Env owns, without those of these members. */
export function poolsWithoutMember(
  { cache }: Pick<EnvTools, "cache">,
  env: SandboxEnv,
  members: readonly string[],
): readonly SandboxPool[] {
  return cache
    .poolsOfEnv(keyOf(env))
    .filter((pool) => isOwnedBy(pool, env) && !members.includes(pool.metadata.name ?? ""))
    .toArray();
}

export type RetireStep = "give-back" | "wait" | "empty" | "delete";

/** Pure. `endAll`: the Env itself goes and asks for its sandboxes to end. */
export function planRetirement(env: SandboxEnv, pool: SandboxPool, counts: PoolCounts, endAll: boolean): RetireStep {
  if (!isControlledBy(pool, env)) return "give-back";
  if (pool.metadata.deletionTimestamp !== undefined) return "wait";
  if (endAll || pool.metadata.annotations?.[annotationKeys.endSandboxes] === "true") return "delete";
  if (pool.spec.replicas > 0) return "empty";
  // A pod that is being made may still be missing in both, so both must say that there is none.
  const { idle, starting, running, stopping, unknown, terminating } = counts;
  const isEmpty = idle + starting + running + stopping + unknown + terminating === 0;
  const seen = pool.status?.replicas ?? 0;
  return isEmpty && seen <= counts.failed ? "delete" : "wait";
}

/** Whether the Env goes with its sandboxes. */
export function endsSandboxes({ metadata }: SandboxEnv): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.annotations?.[annotationKeys.endSandboxes] === "true";
}

export async function retirePool(tools: EnvTools, env: SandboxEnv, pool: SandboxPool, signal: AbortSignal): Promise<void> {
  const step = planRetirement(env, pool, countPods(tools.cache, keyOf(pool)), endsSandboxes(env));
  switch (step) {
    case "wait":
      return;
    case "give-back":
      await patchPool(tools, pool, givenBack(pool, env), signal);
      return;
    case "empty":
      if (await patchPool(tools, pool, { spec: { replicas: 0 } }, signal)) tellEmptied(tools, env, pool);
      return;
    case "delete":
      await deletePool(tools, env, pool, signal);
  }
}

/** The pool without what the adoption put on it. It is not adopted again: the Env was taken away on purpose. */
export function givenBack({ metadata }: SandboxPool, env: SandboxEnv): JsonObject {
  const ownerReferences = (metadata.ownerReferences ?? []).filter(({ uid }) => uid !== env.metadata.uid).map((owner) => ({ ...owner }));
  return {
    metadata: {
      ownerReferences: ownerReferences.length === 0 ? null : ownerReferences,
      labels: { [labelKeys.env]: null, [labelKeys.scalingGroup]: null },
      annotations: { [annotationKeys.adopt]: "false" },
    },
  };
}

function tellEmptied(tools: EnvTools, env: SandboxEnv, pool: SandboxPool): void {
  const name = pool.metadata.name ?? "";
  const running = (pool.status?.runningReplicas ?? 0) + (pool.status?.startingReplicas ?? 0);
  const rest =
    running === 0
      ? ""
      : `; ${running} sandboxes run on until they end (annotation ${annotationKeys.endSandboxes}: "true" on the pool ends them)`;
  tellEnv(tools, env, {
    type: "Normal",
    reason: "MemberRemoved",
    message: `pool ${name} is no longer a member and is being emptied${rest}`,
  });
}

async function deletePool(tools: EnvTools, env: SandboxEnv, pool: SandboxPool, signal: AbortSignal): Promise<void> {
  const verdict = await tools.plugins?.preDeletePool(pool, signal);
  const name = pool.metadata.name ?? "";
  if (verdict !== undefined && "refusal" in verdict) {
    const { plugin, message } = verdict.refusal;
    tellEnv(tools, env, { type: "Warning", reason: "DeleteRefused", message: `pool ${name} stays: plugin ${plugin}: ${message}` });
    return;
  }
  const { uid = "", resourceVersion = "" } = pool.metadata;
  try {
    await tools.client.delete(SandboxPools, keyOf(pool), { preconditions: { uid, resourceVersion }, signal });
  } catch (error) {
    if (!isLostRace(error)) throw error;
    return;
  }
  tellEnv(tools, env, { type: "Normal", reason: "PoolDeleted", message: `pool ${name} was deleted` });
}

/** True when it was written. */
async function patchPool({ client, cache }: EnvTools, pool: SandboxPool, body: JsonObject, signal: AbortSignal): Promise<boolean> {
  const { resourceVersion = "" } = pool.metadata;
  const metadata = { ...(body["metadata"] as JsonObject | undefined), resourceVersion };
  try {
    cache.pools.remember(await client.patch(SandboxPools, keyOf(pool), { type: "merge", body: { ...body, metadata } }, { signal }));
    return true;
  } catch (error) {
    if (isLostRace(error)) return false;
    throw error;
  }
}
