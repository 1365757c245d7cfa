/** Repairs pods of a pool that differ from what the pool creates: changed by another writer, or created by an earlier version. */
import type { Key } from "#kube/controller/key.ts";
import { Limiter } from "#lib/limiter.ts";
import { patchPodAsSeen } from "#life/patch-pod.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import { finalizers } from "#model/keys.ts";
import type { JsonPatch } from "#model/patch.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { PodNote } from "#controllers/pool/pod-note.ts";
import { keyOf, type PoolTools } from "#controllers/pool/pool-deps.ts";
import { removePods } from "#controllers/pool/size/remove-pods.ts";

export async function tidyPods(tools: PoolTools, pool: SandboxPool, signal: AbortSignal): Promise<void> {
  const key = keyOf(pool);
  await protectPods(tools, key, signal);
  await removeStrays(tools, pool, signal);
}

/** Without the finalizer, a pod deleted from outside would be gone before its sandbox is recorded (I3). */
async function protectPods(tools: PoolTools, key: Key, signal: AbortSignal): Promise<void> {
  const { unprotected } = tools.ledger.of(key);
  if (unprotected.size === 0) return;
  const limiter = new Limiter(tools.creationsAtOnce);
  await Promise.all([...unprotected.values()].map(({ pod }) => limiter.run(() => patchPodAsSeen(tools, pod, protection(pod), signal))));
}

function protection({ metadata: { uid = "", resourceVersion = "", finalizers: present } }: Pod): JsonPatch {
  const finalizer = finalizers.sandboxProtection;
  return {
    type: "json",
    operations: [
      { op: "test", path: "/metadata/uid", value: uid },
      { op: "test", path: "/metadata/resourceVersion", value: resourceVersion },
      present === undefined
        ? { op: "add", path: "/metadata/finalizers", value: [finalizer] }
        : { op: "add", path: "/metadata/finalizers/-", value: finalizer },
    ],
  };
}

/**
 * Pods of the pool that lost their phase, or that are closed to claims: they cannot be claimed. A pod that shows a sandbox is left to the loops of
 * `life/`, and a pod that the pool did not create is left alone.
 */
async function removeStrays(tools: PoolTools, pool: SandboxPool, signal: AbortSignal): Promise<void> {
  const { strays } = tools.ledger.of(keyOf(pool));
  if (strays.size === 0) return;
  // Those that we close and delete are among them until the cache shows that they go (I6).
  if (!tools.expectations.satisfied(keyOf(pool))) return;
  // Only AgentBox closes pods, so this applies to every pod.
  const isOwn = ({ pod, slot }: PodNote): boolean =>
    sandboxIdOf(pod) === undefined &&
    (slot === "idle" || (pod.metadata.ownerReferences ?? []).some(({ uid }) => uid === pool.metadata.uid));
  await removePods(tools, keyOf(pool), [...strays.values()].filter(isOwn), signal);
}
