/**
 * Replaces idle pods that do not become ready: a few at a time, the longest unready first, and with growing pauses, because what keeps one
 * from it mostly keeps the next from it too. A pod that is on its way may become ready until its delete arrives, and then stays (I4).
 */
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { PodNote } from "./pod-note.ts";
import { keyOf, type PoolTools } from "./pool-deps.ts";
import { removePods } from "./remove-pods.ts";

/** Resolves with when to look again. */
export async function giveUpUnready(tools: PoolTools, pool: SandboxPool, signal: AbortSignal): Promise<number | undefined> {
  const key = keyOf(pool);
  const { losses } = tools.memories.of(key);
  const book = tools.ledger.of(key);
  const now = tools.clock.now();
  if (book.unready.size === 0) return undefined;
  losses.observe(book, now);
  const dueInMs = ({ pod }: PodNote): number => tools.pace.unreadyMs - tools.unready.forMs(pod);
  const oldest = book.unready.oldestFirst().take(tools.creationsAtOnce).toArray();
  const waitMs = Math.max(losses.waitMs(now), Math.min(...oldest.map(dueInMs)));
  if (waitMs > 0) return waitMs;
  const due = oldest.filter((note) => dueInMs(note) <= 0);
  if ((await removePods(tools, key, due, signal)) > 0) losses.lost(now);
  return Math.max(1, losses.waitMs(now));
}
