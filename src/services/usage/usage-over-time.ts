/**
 * Usage by team and user over time: ended sandboxes from the database, where each is counted once, and live ones until now. The hour that runs is not
 * final: a sandbox that ends in this moment may be missing from it until the next request.
 */
import type { Clock } from "#lib/clock.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { usageShares, hourMs } from "#store/usage/usage-shares.ts";
import { UsageRows } from "#store/usage/usage-rows.ts";
import {
  type UsageAmounts,
  type UsageOwner,
  usageOwners,
  type UsageQuery,
  type UsageRow,
  type UsageStep,
  usageSteps,
  type UsageStore,
} from "#store/usage/usage-store.ts";
import { normalTime } from "#store/record-key.ts";
import { type Caller, scopeOf } from "#services/caller.ts";
import type { LiveSandboxes } from "#services/reading/live-sandboxes.ts";
import { ServiceError } from "#services/service-error.ts";
import { translated } from "#services/service-failure.ts";

export { usageOwners, usageSteps };

export interface UsageReport {
  readonly from: string;
  readonly to: string;
  readonly step: UsageStep;
  readonly by: UsageOwner;
  readonly rows: readonly ReportRow[];
}

export interface ReportRow extends UsageAmounts {
  readonly start: string;
  readonly team: string;
  readonly user?: string;
}

export interface UsageWish {
  readonly from?: string;
  readonly to?: string;
  readonly step?: UsageStep;
  readonly by?: UsageOwner;
  readonly team?: string;
  readonly user?: string;
}

export interface UsageOverTimeDeps {
  readonly live: Pick<LiveSandboxes, "newestFirst">;
  readonly store: Pick<UsageStore, "count" | "report">;
  readonly clock: Clock;
}

export type UsageOverTime = (caller: Caller, wanted: UsageWish) => Promise<UsageReport>;

const dayMs = 24 * hourMs;
const longest: Readonly<Record<UsageStep, number>> = { hour: 31 * dayMs, day: 400 * dayMs, all: 400 * dayMs };
const usualSpanMs = 30 * dayMs;
const mostRows = 10_000;
const countStep = 500;
/** The retention counts the rest of a long backlog. */
const mostCountSteps = 20;

export function usageOverTime(deps: UsageOverTimeDeps): UsageOverTime {
  return async (caller, wanted) => {
    const query = queryOf(caller, wanted, deps.clock.now());
    const rows = caller.role === "tenant" && caller.team === "" ? [] : await rowsOf(deps, query);
    if (rows.length > mostRows) {
      throw new ServiceError(
        "invalid_request",
        `this is ${rows.length} rows, and ${mostRows} at most are answered: choose a longer step, a shorter time or one team`,
        {
          field: "step",
        },
      );
    }
    return {
      from: timeText(query.fromMs),
      to: timeText(query.toMs),
      step: query.step,
      by: query.by,
      rows: rows.map(({ startMs, ...row }) => ({ start: timeText(startMs), ...row })),
    };
  };
}

async function rowsOf({ live, store, clock }: UsageOverTimeDeps, query: UsageQuery): Promise<readonly UsageRow[]> {
  for (let step = 0; step < mostCountSteps; step++) if ((await translated(store.count(countStep))) < countStep) break;
  const ended = await translated(store.report(query));
  const rows = new UsageRows(query);
  // Read right after the ended ones: a sandbox that ends in between is missing in both, and never counted twice.
  for (const sandbox of live.newestFirst({ scope: query.scope })) {
    if (sandbox.status === "Stopping") continue;
    for (const share of usageShares(sandbox, clock.now())) rows.add(share);
  }
  for (const row of ended) rows.addRow(row);
  return rows.all();
}

function queryOf(caller: Caller, wanted: UsageWish, now: number): UsageQuery {
  const { step = "day", by = "team", team, user } = wanted;
  const toMs = Math.ceil(momentOf("to", wanted.to, now) / hourMs) * hourMs;
  const fromMs = Math.floor(momentOf("from", wanted.from, usualFrom(toMs, step)) / hourMs) * hourMs;
  if (fromMs >= toMs) throw new ServiceError("invalid_request", "from must be before to", { field: "from" });
  if (toMs - fromMs > longest[step] + hourMs) {
    throw new ServiceError("invalid_request", `by ${step}, at most ${longest[step] / dayMs} days are answered: choose a later from`, {
      field: "from",
    });
  }
  return { scope: scopeOf(caller), fromMs, toMs, step, by, ...withoutUndefined({ team, user }) };
}

/** By day, whole days. */
function usualFrom(toMs: number, step: UsageStep): number {
  const from = toMs - usualSpanMs;
  return step === "hour" ? toMs - dayMs : Math.floor(from / dayMs) * dayMs;
}

function momentOf(field: string, time: string | undefined, usual: number): number {
  if (time === undefined) return usual;
  const normal = normalTime(time);
  if (normal !== undefined) return Date.parse(normal);
  throw new ServiceError("invalid_request", `${field} must be a time such as 2026-01-31T12:00:00Z, not ${JSON.stringify(time)}`, { field });
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
