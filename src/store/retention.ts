/** Deletes old records in steps small enough that no other query waits for them. Any number of processes may do it at once. */
import { type Random, spread } from "#lib/backoff.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { HistoryStore } from "./history-store.ts";

export interface RetentionOptions {
  readonly history: Pick<HistoryStore, "prune">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: Random;
  /** How long an ended sandbox is remembered. */
  readonly keepMs?: number;
  /** How often to look. */
  readonly everyMs?: number;
}

export const defaultKeepMs = 30 * 24 * 3_600_000;
const defaultEveryMs = 10 * 60_000;
const stepSize = 50;
/** Between two steps, so that a long backlog leaves room for other queries. */
const stepPauseMs = 20;

/** Runs until the signal is aborted; resolves then. A failure is logged, and the next round tries again. */
export async function runRetention(options: RetentionOptions, signal: AbortSignal): Promise<void> {
  const { clock, log, random = Math.random, everyMs = defaultEveryMs } = options;
  while (!signal.aborted) {
    try {
      const removed = await pruneRound(options, signal);
      if (removed > 0) log.info({ removed }, "old history removed");
    } catch (error) {
      if (!signal.aborted) log.warn({ error }, "old history could not be removed");
    }
    await sleep(clock, spread(everyMs, 0.2, random), signal).catch(() => {});
  }
}

async function pruneRound({ history, clock, keepMs = defaultKeepMs }: RetentionOptions, signal: AbortSignal): Promise<number> {
  const olderThan = new Date(clock.now() - keepMs).toISOString();
  let removed = 0;
  for (;;) {
    const step = await history.prune({ olderThan, limit: stepSize });
    removed += step;
    if (step < stepSize) return removed;
    await sleep(clock, stepPauseMs, signal);
  }
}
