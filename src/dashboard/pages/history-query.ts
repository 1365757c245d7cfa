/** Turns the filters of the history page into a query. */
import type { SandboxQuery } from "#client/sandbox-types.ts";
import { sandboxStopReasons } from "#model/keys.ts";

const pageSize = 100;
const hourMs = 3_600_000;

/** Pure, but for the time, which may be given. */
export function historyQuery(query: URLSearchParams, nowMs = Date.now()): SandboxQuery {
  const [text, pool, status, within] = ["q", "pool", "status", "within"].map((name) => query.get(name)?.trim() ?? "");
  const reasons = sandboxStopReasons.filter((reason) => status === "" || reason === status);
  return {
    limit: pageSize,
    status: reasons,
    ...(text !== undefined && text !== "" && (text.includes("=") ? { metadata: [text] } : { idPrefix: text })),
    ...(pool !== undefined && pool !== "" && { poolName: pool }),
    ...(Number(within) > 0 && { endedAfter: new Date(nowMs - Number(within) * hourMs).toISOString() }),
  };
}
