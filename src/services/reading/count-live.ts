/** How many live sandboxes fit a filter; undefined if too many would have to be looked at. */
import { checkedQuery } from "#store/checked-query.ts";
import { matchesFilter } from "#store/matches-filter.ts";
import { type Caller, scopeOf } from "#services/caller.ts";
import type { LiveFilter } from "#services/sandbox-service.ts";
import { asServiceError } from "#services/service-failure.ts";
import type { LiveSandboxes } from "./live-sandboxes.ts";

const maxExamined = 10_000;

export function countLive(live: Pick<LiveSandboxes, "newestFirst" | "counts">, caller: Caller, filter: LiveFilter): number | undefined {
  if (caller.role === "tenant" && caller.team === "") return 0;
  const scope = scopeOf(caller);
  const { status, ...others } = filter;
  // Counted already, so that a large number costs nothing.
  if (Object.keys(others).length === 0 && status !== undefined) {
    const { byStatus } = live.counts(scope);
    return status.reduce((sum, one) => sum + (byStatus.get(one) ?? 0), 0);
  }
  const query = checked({ ...filter, scope, limit: 1 });
  let [count, examined] = [0, 0];
  for (const view of live.newestFirst({ scope, pool: query.pool })) {
    if (query.claimedAfter !== undefined && view.claimedAt < query.claimedAfter) break;
    if (examined++ === maxExamined) return undefined;
    if (matchesFilter(view, query)) count++;
  }
  return count;
}

function checked(query: Parameters<typeof checkedQuery>[0]): ReturnType<typeof checkedQuery> {
  try {
    return checkedQuery(query);
  } catch (error) {
    throw asServiceError(error);
  }
}
