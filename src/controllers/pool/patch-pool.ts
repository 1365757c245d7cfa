import { isLostRace } from "#kube/lost-race.ts";
import type { JsonObject } from "#model/meta.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { keyOf, type PoolTools } from "./pool-deps.ts";

/** Changes metadata of the very pool that was seen. Undefined when it has changed since: that change wakes us again. */
export function patchPool(
  tools: PoolTools,
  pool: SandboxPool,
  metadata: JsonObject,
  signal: AbortSignal,
): Promise<SandboxPool | undefined> {
  return send(tools, pool, { body: { metadata } }, signal);
}

export function patchPoolStatus(
  tools: PoolTools,
  pool: SandboxPool,
  status: JsonObject,
  signal: AbortSignal,
): Promise<SandboxPool | undefined> {
  return send(tools, pool, { body: { status }, subresource: "status" }, signal);
}

interface PoolChange {
  readonly body: JsonObject & { readonly metadata?: JsonObject };
  readonly subresource?: "status";
}

async function send(
  { client, cache }: PoolTools,
  pool: SandboxPool,
  change: PoolChange,
  signal: AbortSignal,
): Promise<SandboxPool | undefined> {
  const { resourceVersion = "" } = pool.metadata;
  const body = { ...change.body, metadata: { ...change.body.metadata, resourceVersion } };
  try {
    const written = await client.patch(SandboxPools, keyOf(pool), { type: "merge", body }, { subresource: change.subresource, signal });
    // One that went with its last finalizer is no more.
    if (written.metadata.deletionTimestamp === undefined) cache.pools.remember(written);
    return written;
  } catch (error) {
    if (isLostRace(error)) return undefined;
    throw error;
  }
}
