/** Writes what the autoscaler remembers of a pool: `status.autoscaling`, which nothing else writes, and the time of its latest create. */
import { isDeepStrictEqual } from "node:util";
import { isLostRace } from "#kube/lost-race.ts";
import type { Json, JsonObject } from "#model/meta.ts";
import { annotationKeys } from "#model/keys.ts";
import { type PoolAutoScalingStatus, type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { formatTime, parseTime } from "#sandbox/annotation-values.ts";
import type { ScalingTools } from "./scaling-deps.ts";

type Fields = Exclude<keyof PoolAutoScalingStatus, "observedGeneration">;

/** What is left out stays; undefined goes. */
export type StatusChange = { readonly [Field in Fields]?: PoolAutoScalingStatus[Field] | undefined };

/** Nothing is written when nothing would change, the decision's text aside if `isTextDue` is false. */
export async function writeAutoscaling(
  tools: ScalingTools,
  pool: SandboxPool,
  change: StatusChange,
  { isTextDue, signal }: { readonly isTextDue: boolean; readonly signal: AbortSignal },
): Promise<boolean> {
  const before: PoolAutoScalingStatus = pool.status?.autoscaling ?? {};
  const changed = Object.entries(change).filter(([field, value]) => !isDeepStrictEqual(value, before[field as Fields]));
  const isOnlyText = changed.every(([field]) => field === "decision");
  if (changed.length === 0 || (isOnlyText && !isTextDue)) return false;
  const observedGeneration = pool.metadata.generation ?? 0;
  const fields = Object.fromEntries(changed.map(([field, value]): [string, Json] => [field, value ?? null]));
  await send(tools, pool, { body: { status: { autoscaling: { ...fields, observedGeneration } } }, subresource: "status" }, signal);
  return true;
}

/** Late, and only forward: it is for the process that comes after this one, and for people. */
export async function writeCreateTime(
  tools: ScalingTools,
  pool: SandboxPool,
  atMs: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  const key = annotationKeys.lastSandboxCreateTime;
  const writtenMs = parseTime(pool.metadata.annotations?.[key]) ?? 0;
  if (atMs === undefined || atMs - writtenMs < tools.pace.createTimeEveryMs) return;
  await send(tools, pool, { body: { metadata: { annotations: { [key]: formatTime(atMs) } } } }, signal);
}

interface PoolChange {
  readonly body: JsonObject;
  readonly subresource?: "status";
}

/** Without a resourceVersion: these fields have no other writer, and a pool's status changes with every claim. A pool that is gone needs none. */
async function send(
  { client, cache }: ScalingTools,
  pool: SandboxPool,
  { body, subresource }: PoolChange,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name = "" } = pool.metadata;
  try {
    const written = await client.patch(SandboxPools, { namespace, name }, { type: "merge", body }, { subresource, signal });
    if (written.metadata.deletionTimestamp === undefined) cache.pools.remember(written);
  } catch (error) {
    if (!isLostRace(error)) throw error;
  }
}
