/**
 * Live and ended sandboxes as one list, newest first, page by page, without reading all of either.
 *
 * Nothing is shown twice and nothing is missed, also when sandboxes end between two pages or in the middle of one:
 * - The place of a sandbox in the list (record-key.ts) is the same while it lives and after its end, so a cursor means the same in
 *   both sources, and a sandbox that changes over is met where it was, or was already shown.
 * - The record is written before the pod forgets the sandbox (I3), so at any moment one of the two knows it. Live ones are read
 *   first: a sandbox that is gone from them by then is in the history already. A sandbox in both is shown once, as ended.
 */
import { isTerminalStatus, type SandboxRecord } from "#model/sandbox-record.ts";
import { sandboxStopReasons } from "#model/keys.ts";
import { checkedQuery } from "./checked-query.ts";
import type { HistoryPage, HistoryQuery, HistoryStore } from "./history-store.ts";
import { matchesFilter } from "./matches-filter.ts";
import { compareKeys, keyOf, lowestId, type RecordKey } from "./record-key.ts";

/**
 * The live sandboxes behind a place of the list, newest first. All that have an id and may not have a record yet: starting, running
 * and stopping ones. May hold more than the query asks for; a source that knows the tenant should leave others out, to save time.
 */
export type LiveSandboxes = (after: RecordKey | undefined) => Iterable<SandboxRecord>;

export async function listSandboxes(
  live: LiveSandboxes,
  history: Pick<HistoryStore, "search">,
  wanted: HistoryQuery,
): Promise<HistoryPage> {
  const query = checkedQuery(wanted);
  const livePage = firstLive(live, query);
  const endedPage = await searchEnded(history, query);
  return joinPages(livePage, endedPage, query.limit);
}

/** So many live sandboxes are looked at for a filter that few of them fit; then the page is short, and the caller asks on. */
const maxExamined = 10_000;

/** The first matches, read at once: nothing else runs in between. */
function firstLive(live: LiveSandboxes, query: HistoryQuery): HistoryPage {
  const records: SandboxRecord[] = [];
  if (!mayMatchLive(query)) return { records };
  const start = startOf(query);
  let last = start;
  let examined = 0;
  for (const record of live(start)) {
    if (last !== undefined && compareKeys(last, record) >= 0) {
      throw new Error(
        `live sandboxes are out of order: ${record.sandboxId} of ${record.claimedAt} came after ${last.sandboxId} of ${last.claimedAt}`,
      );
    }
    if (query.claimedAfter !== undefined && record.claimedAt < query.claimedAfter) break;
    if (last !== undefined && examined++ === maxExamined) return { records, next: last };
    last = keyOf(record);
    if (!matchesFilter(record, query)) continue;
    const full = records.at(query.limit - 1);
    if (full !== undefined) return { records, next: keyOf(full) };
    records.push(record);
  }
  return { records };
}

function mayMatchLive({ status, endedAfter, endedBefore }: HistoryQuery): boolean {
  if (endedAfter !== undefined || endedBefore !== undefined) return false;
  return status === undefined || !status.every(isTerminalStatus);
}

/** Behind the cursor, and behind all that is too new. The key of a moment without an id below any other is the last place of it. */
function startOf({ after, claimedBefore }: HistoryQuery): RecordKey | undefined {
  const tooNew = claimedBefore === undefined ? undefined : { claimedAt: claimedBefore, sandboxId: lowestId };
  if (after === undefined || tooNew === undefined) return after ?? tooNew;
  return compareKeys(after, tooNew) < 0 ? tooNew : after;
}

/** Only what has ended: should a record without an end be stored, then its pod tells better how the sandbox is. */
async function searchEnded(history: Pick<HistoryStore, "search">, query: HistoryQuery): Promise<HistoryPage> {
  const status = query.status === undefined ? sandboxStopReasons : query.status.filter(isTerminalStatus);
  return status.length === 0 ? { records: [] } : history.search({ ...query, status });
}

/** Each page tells all of its source down to its `next`; beyond the nearer of the two, something could be missing in between. */
function joinPages(live: HistoryPage, ended: HistoryPage, limit: number): HistoryPage {
  // Sorting keeps the order of equals, so of two with one key the ended one stays.
  const sorted = [...ended.records, ...live.records].sort(compareKeys);
  const all = sorted.filter((record, index) => index === 0 || compareKeys(sorted[index - 1] ?? record, record) !== 0);
  const [horizon] = [live.next, ended.next].filter((key) => key !== undefined).sort(compareKeys);
  const known = horizon === undefined ? all : all.filter((record) => compareKeys(record, horizon) <= 0);
  const records = known.slice(0, limit);
  const last = records.at(-1);
  if (last !== undefined && known.length > limit) return { records, next: keyOf(last) };
  return horizon === undefined ? { records } : { records, next: horizon };
}
