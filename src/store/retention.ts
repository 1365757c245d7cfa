/** Counts usage, and deletes old records, in steps small enough that no other query waits for them. Any number of processes may do it at once. */
import { type Random, spread } from "#lib/backoff.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { AuditStore } from "./audit/audit-store.ts";
import type { HistoryStore } from "./history-store.ts";
import { hourMs, maxHours } from "./usage/usage-shares.ts";
import type { LogStore } from "./logs/log-store.ts";
import type { UsageStore } from "./usage/usage-store.ts";

export interface RetentionOptions {
  readonly history: Pick<HistoryStore, "prune"> & {
    readonly audit: Pick<AuditStore, "prune">;
    readonly usage: Pick<UsageStore, "count" | "prune">;
    readonly logs: Pick<LogStore, "prune">;
  };
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: Random;
  /** How long an ended sandbox is remembered. */
  readonly keepMs?: number | undefined;
  /** How long an entry of the audit log is kept. */
  readonly keepAuditMs?: number | undefined;
  /** How long the log of an ended sandbox is kept. */
  readonly keepLogsMs?: number | undefined;
  /** How often to look. */
  readonly everyMs?: number;
}

export const defaultKeepMs = 30 * 24 * 3_600_000;
export const defaultKeepAuditMs = 90 * 24 * 3_600_000;
export const defaultKeepLogsMs = 7 * 24 * 3_600_000;
export const keepUsageMs = maxHours * hourMs;
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

async function pruneRound(options: RetentionOptions, signal: AbortSignal): Promise<number> {
  const { history, clock, keepMs = defaultKeepMs, keepAuditMs = defaultKeepAuditMs, keepLogsMs = defaultKeepLogsMs } = options;
  const before = (ms: number): string => new Date(clock.now() - ms).toISOString();
  await inSteps(options, () => history.usage.count(stepSize), signal);
  const olderThan = before(keepMs);
  const removed = await inSteps(options, () => history.prune({ olderThan, limit: stepSize }), signal);
  const olderEntries = before(keepAuditMs);
  await inSteps(options, () => history.audit.prune({ olderThan: olderEntries, limit: stepSize }), signal);
  const olderLogs = before(keepLogsMs);
  await inSteps(options, () => history.logs.prune({ olderThan: olderLogs, limit: stepSize }), signal);
  await history.usage.prune(clock.now() - keepUsageMs);
  return removed;
}

async function inSteps({ clock }: RetentionOptions, step: () => Promise<number>, signal: AbortSignal): Promise<number> {
  let all = 0;
  for (;;) {
    const done = await step();
    all += done;
    if (done < stepSize) return all;
    await sleep(clock, stepPauseMs, signal);
  }
}
