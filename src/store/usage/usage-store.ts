/**
 * The port to usage over time: what sandboxes were given, by hour, team and user. It stands in the database of the history, and is kept longer than records.
 *
 * - `usage-store.ts`  the port                 - `usage-shares.ts`  one record, cut into hours
 * - `usage-rows.ts`   hours added up to what was asked for
 * - `sqlite-usage.ts`, `postgres-usage.ts`  the two databases
 *
 * Rules that both keep, and test/history checks on both:
 * - U1: every life of a sandbox that has ended is counted exactly once, however many processes count, and whichever of them dies: its hours and the mark on
 *   its record are written together.
 * - U2: pruning a record counts it first, if that was not done.
 * - U3: what is outside the scope is as if it did not exist (I8).
 */
import type { HistoryScope } from "../history-store.ts";

export interface UsageAmounts {
  /** Sandboxes that a request got. */
  readonly creates: number;
  /** From the claim to the end, pauses included. */
  readonly sandboxSeconds: number;
  /** Seconds times the processor cores that the sandbox was given. */
  readonly cpuSeconds: number;
  /** Seconds times the GiB of memory that the sandbox was given. */
  readonly memoryGibSeconds: number;
}

export const usageSteps = ["hour", "day", "all"] as const;
export type UsageStep = (typeof usageSteps)[number];

export const usageOwners = ["team", "user"] as const;
export type UsageOwner = (typeof usageOwners)[number];

export interface UsageQuery {
  readonly scope: HistoryScope;
  /** Whole hours, in milliseconds since 1970; `toMs` is not included. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly step: UsageStep;
  readonly by: UsageOwner;
  readonly team?: string;
  readonly user?: string;
}

export interface UsageRow extends UsageAmounts {
  /** Where the step begins, in UTC. */
  readonly startMs: number;
  readonly team: string;
  /** Only when asked for by user. */
  readonly user?: string;
}

export interface UsageStore {
  /** Counts ended sandboxes that were not counted yet, at most `limit`. Resolves with how many they were. Any number of processes may count at once. */
  count(limit: number): Promise<number>;

  /** What was counted so far, by start, team and user. */
  report(query: UsageQuery): Promise<readonly UsageRow[]>;

  /** Forgets hours from before this moment. */
  prune(olderThanMs: number): Promise<void>;
}
