/**
 * Whether the pool is still there, asked of the server itself. A cache that fell behind may show one that is gone, or another of its name in
 * its place: pods made for it would be collected as soon as they are there, and made again as fast as that.
 */
import { isApiError } from "#kube/api-error.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { keyOf, type PoolTools } from "./pool-deps.ts";

export async function isStillThere({ client }: PoolTools, pool: SandboxPool, signal: AbortSignal): Promise<boolean> {
  try {
    const { metadata } = await client.get(SandboxPools, keyOf(pool), { signal });
    return metadata.uid === pool.metadata.uid && metadata.deletionTimestamp === undefined;
  } catch (error) {
    if (isApiError(error, "NotFound")) return false;
    throw error;
  }
}
