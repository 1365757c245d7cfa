/** Deletes idle pods, each only in the state in which it was seen: one that is claimed meanwhile stays (W2, I4). */
import type { Key } from "#kube/controller/key.ts";
import { Limiter } from "#lib/limiter.ts";
import { deletePodAsSeen } from "#life/delete-pod.ts";
import type { PodNote } from "#controllers/pool/pod-note.ts";
import type { PoolTools } from "#controllers/pool/pool-deps.ts";

/** Resolves with how many are on their way out. */
export async function removePods(tools: PoolTools, pool: Key, notes: readonly PodNote[], signal: AbortSignal): Promise<number> {
  if (notes.length === 0) return 0;
  const { expectations } = tools;
  expectations.expectDeletions(pool, notes.map(uidOf));
  const limiter = new Limiter(tools.creationsAtOnce);
  let removed = 0;
  const remove = async (note: PodNote): Promise<void> => {
    let isDeleted = false;
    try {
      await tools.clock.turns?.next();
      isDeleted = await deletePodAsSeen(tools, note.pod, signal);
    } finally {
      // Whatever kept it from going, no event of it will come (W8).
      if (isDeleted) removed += 1;
      else expectations.deletionFailed(pool, uidOf(note));
    }
  };
  const ends = await Promise.allSettled(notes.map((note) => limiter.run(() => remove(note))));
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return removed;
}

function uidOf({ pod }: PodNote): string {
  return pod.metadata.uid ?? "";
}
