/**
 * Replaces idle pods that do not become ready: a few at a time, the longest unready first, and with growing pauses, because what keeps one
 * from it mostly keeps the next from it too. A pod that is on its way may become ready until its delete arrives, and then stays (I4).
 */
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { isFormRefused } from "#sandbox/images/image-form.ts";
import type { PodNote } from "#controllers/pool/pod-note.ts";
import { keyOf, type PoolTools } from "#controllers/pool/pool-deps.ts";
import { removePods } from "#controllers/pool/size/remove-pods.ts";
import { tellPool } from "#controllers/pool/status/tell-pool.ts";

/** After so long pods that were not as we know them are tried again. */
const unheardMs = 1_000;

/** Resolves with when to look again. */
export async function giveUpUnready(tools: PoolTools, pool: SandboxPool, signal: AbortSignal): Promise<number | undefined> {
  const key = keyOf(pool);
  const { losses } = tools.memories.of(key);
  const book = tools.ledger.of(key);
  const now = tools.clock.now();
  if (book.unready.size === 0) return undefined;
  losses.observe(book, now);
  await giveUpRefused(tools, pool, signal);
  const dueInMs = ({ pod }: PodNote): number => tools.pace.unreadyMs - tools.unready.forMs(pod);
  const oldest = book.unready.oldestFirst().take(tools.creationsAtOnce).toArray();
  const waitMs = Math.max(losses.waitMs(now), Math.min(...oldest.map(dueInMs)));
  if (waitMs > 0) return waitMs;
  const due = oldest.filter((note) => dueInMs(note) <= 0);
  // If the pods changed meanwhile, the next reconcile comes when the cache shows it, which may take a while.
  if ((await removePods(tools, key, due, signal)) === 0) return unheardMs;
  losses.lost(now);
  tools.memories.of(key).givenUp = due[0]?.pod;
  return Math.max(1, losses.waitMs(now));
}

/** If the node does not accept the form of their image references, these pods never become ready; new pods use the other form. */
async function giveUpRefused(tools: PoolTools, pool: SandboxPool, signal: AbortSignal): Promise<void> {
  const key = keyOf(pool);
  const oldest = tools.ledger.of(key).unready.oldestFirst().take(tools.pace.removalsAtOnce);
  const refused = oldest.filter(({ pod }) => isFormRefused(pod)).toArray();
  if (refused.length === 0) return;
  const memory = tools.memories.of(key);
  if ((memory.imageForm ?? pool.status?.imageForm) === undefined) {
    const message =
      "a node's container runtime takes no tag beside a digest: images are written without one, and pods are replaced after each use";
    tellPool(tools, pool, { type: "Warning", reason: "ImageFormRefused", message });
  }
  memory.imageForm = "Digest";
  await removePods(tools, key, refused, signal);
}
