import type { HistoryCount } from "./history-store.ts";

/** Ordered by the code units of the key, whatever order a database has for texts. */
export function sortedCounts(counts: Iterable<readonly [string, number]>): readonly HistoryCount[] {
  return [...counts].map(([key, count]) => ({ key, count })).sort((a, b) => (a.key < b.key ? -1 : 1));
}
