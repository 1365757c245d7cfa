/**
 * How long a container that ends again and again waits before its next start: not at all after its first end, then 10 s, and
 * twice as long each time up to 5 min; from the beginning once it has run for 10 min. The count belongs to the container's
 * hash, so a pod that gets another image does not pay for the failures of the one before.
 */
export interface BackoffEntry {
  readonly delayMs: number;
  /** When it was last started under this delay. */
  readonly startedAt: number;
}

const firstMs = 10_000;
const maxMs = 300_000;

/** Until when a container that ended at `endedAt` must not be started; undefined when it may. */
export function heldBackUntil(entry: BackoffEntry | undefined, endedAt: number, now: number): number | undefined {
  if (entry === undefined || ranLong(entry, endedAt)) return undefined;
  const until = endedAt + entry.delayMs;
  return now < until ? until : undefined;
}

/** The entry after a container is started again; the run before it ended at `endedAt`. */
export function afterRestart(entry: BackoffEntry | undefined, endedAt: number, now: number): BackoffEntry {
  const delayMs = entry === undefined || ranLong(entry, endedAt) ? firstMs : Math.min(maxMs, entry.delayMs * 2);
  return { delayMs, startedAt: now };
}

function ranLong({ startedAt }: BackoffEntry, endedAt: number): boolean {
  return endedAt - startedAt > 2 * maxMs;
}
