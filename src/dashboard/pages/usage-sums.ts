/** Rows of a usage report, added up for a table and for a chart. Pure. */
import type { UsageReport, UsageRow } from "#client/reports.ts";

export interface OwnerUsage {
  readonly owner: string;
  readonly creates: number;
  readonly sandboxSeconds: number;
  readonly cpuSeconds: number;
  readonly memoryGibSeconds: number;
}

/** The largest first. */
export function byOwner({ rows }: Pick<UsageReport, "rows">): readonly OwnerUsage[] {
  const sums = new Map<string, OwnerUsage>();
  for (const row of rows) {
    const owner = ownerText(row);
    const before = sums.get(owner);
    sums.set(owner, {
      owner,
      creates: row.creates + (before?.creates ?? 0),
      sandboxSeconds: row.sandboxSeconds + (before?.sandboxSeconds ?? 0),
      cpuSeconds: row.cpuSeconds + (before?.cpuSeconds ?? 0),
      memoryGibSeconds: row.memoryGibSeconds + (before?.memoryGibSeconds ?? 0),
    });
  }
  return [...sums.values()].sort((a, b) => b.sandboxSeconds - a.sandboxSeconds || (a.owner < b.owner ? -1 : 1));
}

export interface UsageSteps {
  /** In seconds, as charts want it. */
  readonly times: readonly number[];
  readonly values: readonly number[];
}

/** The sum of all owners in each step; steps without usage are 0. */
export function overTime({ from, to, step, rows }: UsageReport, valueOf: (row: UsageRow) => number): UsageSteps {
  const stepMs = step === "hour" ? 3_600_000 : 86_400_000;
  const sums = new Map<number, number>();
  for (let at = Date.parse(from); at < Date.parse(to); at = (Math.floor(at / stepMs) + 1) * stepMs) sums.set(at, 0);
  for (const row of rows) {
    const at = Date.parse(row.start);
    sums.set(at, (sums.get(at) ?? 0) + valueOf(row));
  }
  const sorted = [...sums].sort(([a], [b]) => a - b);
  return { times: sorted.map(([at]) => at / 1000), values: sorted.map(([, value]) => value) };
}

function ownerText({ team, user = "" }: UsageRow): string {
  return [team, user].filter((part) => part !== "").join(" / ") || "without an owner";
}
