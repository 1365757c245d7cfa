/** Idle pods that nobody may get: such as still show a sandbox or were not recycled to the end (W1), and such without a pool. */
import { isApiError } from "#kube/api-error.ts";
import { poolOf, sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { isFresh } from "#sandbox/claimable.ts";
import { deleteRecorded } from "./end-of-pod.ts";
import type { PodDeps } from "./pod-deps.ts";

export async function checkIdle(deps: PodDeps, pod: Pod, signal: AbortSignal): Promise<void> {
  const why = isFresh(pod) ? await whyOrphaned(deps, pod, signal) : "it is not known to be unused";
  if (why === undefined) return;
  deps.log.warn({ sandboxId: sandboxIdOf(pod), pod: pod.metadata.name, why }, "idle pod is replaced");
  await deleteRecorded(deps, pod, signal);
}

/** The cache of pools may be behind that of pods, so the server is asked before a pod goes for it. */
async function whyOrphaned({ cache, client }: PodDeps, pod: Pod, signal: AbortSignal): Promise<string | undefined> {
  const key = { namespace: pod.metadata.namespace, name: poolOf(pod) ?? "" };
  if (cache.pools.objects.get(key) !== undefined) return undefined;
  try {
    await client.get(SandboxPools, key, { signal });
    return undefined;
  } catch (error) {
    if (isApiError(error, "NotFound")) return "its pool is gone";
    throw error;
  }
}
