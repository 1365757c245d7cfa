/** How many creates wait for pods of which pool, as an API process tells the controllers: annotationKeys.claimDemand. */

/** `namespace/name` of a pool to the number of requests. Pools at which nobody waits are left out. */
export type ClaimDemand = ReadonlyMap<string, number>;

/** Undefined when nobody waits. The same demand is the same text. */
export function formatDemand(demand: ClaimDemand): string | undefined {
  const waiting = [...demand].filter(([, count]) => count > 0).sort(([left], [right]) => (left < right ? -1 : 1));
  return waiting.length === 0 ? undefined : JSON.stringify(Object.fromEntries(waiting));
}

/** What cannot be read is no demand: another version may write it differently, and pools must be kept all the same. */
export function parseDemand(text: string | undefined): ClaimDemand {
  try {
    const counts = Object.entries(JSON.parse(text ?? "{}") as object) as [string, unknown][];
    return new Map(counts.filter((entry): entry is [string, number] => Number.isSafeInteger(entry[1]) && Number(entry[1]) > 0));
  } catch {
    return new Map();
  }
}
