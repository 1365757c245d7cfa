/** Replaces idle pods of an earlier template, a few at a time. What is deleted here is missing at the next look, and made anew. */
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { planRollout } from "./plan-rollout.ts";
import { keyOf, type PoolTools } from "./pool-deps.ts";
import { removePods } from "./remove-pods.ts";

export interface Rollout {
  /** Of the present template. */
  readonly hash: string;
  readonly missing: number;
}

export async function rollOut(tools: PoolTools, pool: SandboxPool, { hash, missing }: Rollout, signal: AbortSignal): Promise<void> {
  const key = keyOf(pool);
  const book = tools.ledger.of(key);
  if (book.outdated(hash) === 0) return;
  const { ready, unready } = book;
  const { maxUnavailable } = tools.pace;
  await removePods(tools, key, planRollout({ templateHash: hash, missing, unready, ready, maxUnavailable }), signal);
}
