/** Replaces idle pods of an earlier template, a few at a time. What is deleted here is missing at the next look, and made anew. */
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { keyOf, type PoolTools } from "#controllers/pool/pool-deps.ts";
import { removePods } from "#controllers/pool/size/remove-pods.ts";
import type { PodNote } from "#controllers/pool/pod-note.ts";

export interface Rollout {
  /** Of the present template. */
  readonly hash: string;
  readonly missing: number;
  readonly isProven: boolean;
}

export async function rollOut(tools: PoolTools, pool: SandboxPool, rollout: Rollout, signal: AbortSignal): Promise<void> {
  const { hash, missing, isProven } = rollout;
  const key = keyOf(pool);
  const book = tools.ledger.of(key);
  if (book.outdated(hash) === 0) return;
  const { ready, unready } = book;
  const { maxUnavailable } = tools.pace;
  const unproven = isProven ? undefined : { serving: pool.status?.serving?.templateHash ?? "" };
  await removePods(tools, key, planRollout({ templateHash: hash, unproven, missing, unready, ready, maxUnavailable }), signal);
}

/**
 * Selects idle pods of an earlier template to delete now. Until one pod of the current template has been ready, the serving version keeps all its pods.
 * After that, pods that cannot be claimed go at once; of the others only so many that enough stay ready, so the next one goes when a
 * replacement is ready. If pods of the new template do not become ready, the rollout stops there, and most old pods can still be claimed. Claimed pods are
 * never touched: they are judged when they are recycled.
 */
export interface RolloutSituation {
  /** Hash of the template that pods are made from now. */
  readonly templateHash: string;
  /** The version that serves, while no pod of `templateHash` has been ready. */
  readonly unproven?: { readonly serving: string } | undefined;
  /** Pods that are still to be made; they will be idle. */
  readonly missing: number;
  readonly unready: ReadonlyNotes;
  /** The longest idle first. */
  readonly ready: ReadonlyNotes;
  /** Share of the idle pods that may be missing at a time; one always may. */
  readonly maxUnavailable: number;
}

interface ReadonlyNotes {
  readonly size: number;
  oldestFirst(): IteratorObject<PodNote, undefined>;
}

export function planRollout(situation: RolloutSituation): readonly PodNote[] {
  const { templateHash, unproven, missing, unready, ready, maxUnavailable } = situation;
  const isOutdated = (note: PodNote): boolean => note.templateHash !== templateHash && note.templateHash !== unproven?.serving;
  const unavailable = missing + unready.size;
  const budget = Math.max(1, Math.floor((unavailable + ready.size) * maxUnavailable)) - unavailable;
  const gone = unready.oldestFirst().filter(isOutdated).toArray();
  return budget <= 0 || unproven !== undefined ? gone : [...gone, ...ready.oldestFirst().filter(isOutdated).take(budget)];
}
