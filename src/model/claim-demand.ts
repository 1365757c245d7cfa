/** How many creates wait for pods of which pools, as an API process tells the controllers: annotationKeys.claimDemand. */

/** Requests that wait for a pod of any of these pools. */
export interface WaitingSet {
  /** `namespace/name` of each, sorted. */
  readonly pools: readonly string[];
  readonly count: number;
}

export type ClaimDemand = readonly WaitingSet[];

/** Undefined when no request waits. The same demand is the same text. */
export function formatDemand(demand: ClaimDemand): string | undefined {
  const waiting = demand.filter(({ count }) => count > 0).map(({ pools, count }) => [pools.join(","), count] as const);
  if (waiting.length === 0) return undefined;
  return JSON.stringify(Object.fromEntries(waiting.sort(([left], [right]) => (left < right ? -1 : 1))));
}

/** What cannot be read is no demand: another version may write it differently, and pools must be kept all the same. */
export function parseDemand(text: string | undefined): ClaimDemand {
  try {
    const counts = Object.entries(JSON.parse(text ?? "{}") as object) as [string, unknown][];
    return counts.flatMap(([pools, count]) =>
      Number.isSafeInteger(count) && Number(count) > 0 ? [{ pools: pools.split(","), count: Number(count) }] : [],
    );
  } catch {
    return [];
  }
}
