/** How many sandboxes there are and were, counted by the indexes of the live ones and by the database. */
import type { Clock } from "#lib/clock.ts";
import type { HistoryCount, HistoryStatistics, HistoryStore } from "#store/history-store.ts";
import { normalTime } from "#store/record-key.ts";
import { type Caller, scopeOf } from "#services/caller.ts";
import type { LiveSandboxes } from "./live-sandboxes.ts";
import { ServiceError } from "#services/service-error.ts";
import { translated } from "#services/service-failure.ts";

export interface StatisticsDeps {
  readonly live: Pick<LiveSandboxes, "counts">;
  readonly history: Pick<HistoryStore, "statistics">;
  readonly clock: Clock;
}

export interface SandboxStatistics {
  readonly live: { readonly total: number; readonly byStatus: readonly HistoryCount[]; readonly byPool: readonly HistoryCount[] };
  /** Of those that were claimed at or after this moment. */
  readonly since: string;
  readonly ended: HistoryStatistics;
}

const defaultSpanMs = 24 * 3_600_000;
const nothing: HistoryStatistics = { total: 0, byStatus: [], byPool: [], byDay: [] };

export async function sandboxStatistics(
  deps: StatisticsDeps,
  caller: Caller,
  wanted: { readonly since?: string },
): Promise<SandboxStatistics> {
  const since = normalTime(wanted.since ?? new Date(deps.clock.now() - defaultSpanMs).toISOString());
  if (since === undefined) {
    const message = `since must be a time such as 2026-01-31T12:00:00Z, not ${JSON.stringify(wanted.since)}`;
    throw new ServiceError("invalid_request", message, { field: "since" });
  }
  const scope = scopeOf(caller);
  const { total, byStatus, byPool } = deps.live.counts(scope);
  const live = { total, byStatus: listOf(byStatus), byPool: listOf(byPool) };
  if (caller.role === "tenant" && caller.team === "") return { live: { total: 0, byStatus: [], byPool: [] }, since, ended: nothing };
  return { live, since, ended: await translated(deps.history.statistics({ scope, claimedAfter: since })) };
}

function listOf(counts: ReadonlyMap<string, number>): readonly HistoryCount[] {
  return [...counts].map(([key, count]) => ({ key, count })).sort((left, right) => (left.key < right.key ? -1 : 1));
}
