/** Turns the filters of the audit page into a query. */
import type { AuditQuery } from "#client/reports.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";

const hourMs = 3_600_000;

/** Pure, but for the time, which may be given. */
export function auditQuery(query: URLSearchParams, nowMs = Date.now()): AuditQuery {
  const text = (name: string): string | undefined => query.get(name)?.trim() || undefined;
  const within = Number(query.get("within"));
  return withoutUndefined({
    target: text("target"),
    keyId: text("key"),
    team: text("team"),
    // The server checks it.
    result: text("result") as AuditQuery["result"],
    after: within > 0 ? new Date(nowMs - within * hourMs).toISOString() : undefined,
  });
}
