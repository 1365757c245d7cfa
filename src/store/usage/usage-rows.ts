/** Hours of usage, added up to the steps and owners that a query asks for. Pure. */
import { addedAmounts, hourMs, type UsageShare } from "./usage-shares.ts";
import type { UsageQuery, UsageRow, UsageStep } from "./usage-store.ts";

const dayMs = 24 * hourMs;

export class UsageRows {
  readonly #query: UsageQuery;
  readonly #rows = new Map<string, UsageRow>();

  constructor(query: UsageQuery) {
    this.#query = query;
  }

  /** Shares outside the query are left out. */
  add(share: UsageShare): void {
    const { by, step, fromMs, toMs } = this.#query;
    const atMs = share.hour * hourMs;
    if (atMs < fromMs || atMs >= toMs || !isWanted(share, this.#query)) return;
    const { hour: _, team, user, ...amounts } = share;
    this.addRow({ startMs: startOf(atMs, step, fromMs), team, ...(by === "user" && { user }), ...amounts });
  }

  /** One that another query of the same step and owners gave. */
  addRow(row: UsageRow): void {
    const key = JSON.stringify([row.startMs, row.team, row.user]);
    const before = this.#rows.get(key);
    this.#rows.set(key, before === undefined ? row : { ...row, ...addedAmounts(before, row) });
  }

  all(): readonly UsageRow[] {
    return [...this.#rows.values()].sort(compareRows);
  }
}

export function startOf(atMs: number, step: UsageStep, fromMs: number): number {
  if (step === "all") return fromMs;
  return step === "hour" ? atMs : Math.max(fromMs, Math.floor(atMs / dayMs) * dayMs);
}

function isWanted({ team, user }: UsageShare, query: UsageQuery): boolean {
  const { scope } = query;
  const isSeen = scope.kind === "admin" || (scope.team === team && (scope.user === undefined || scope.user === user));
  return isSeen && (query.team ?? team) === team && (query.user ?? user) === user;
}

function compareRows(a: UsageRow, b: UsageRow): number {
  if (a.startMs !== b.startMs) return a.startMs - b.startMs;
  if (a.team !== b.team) return a.team < b.team ? -1 : 1;
  return (a.user ?? "") < (b.user ?? "") ? -1 : 1;
}
