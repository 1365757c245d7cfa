/** The filter of the audit log in SQL, over the log as `a`, without its times. A `?` stands for a parameter. */
import { allOf, type Condition } from "../conditions.ts";
import type { AuditFilter, AuditResult } from "./audit-store.ts";

const statuses: Readonly<Record<AuditResult, readonly [from: number, below: number]>> = {
  ok: [0, 400],
  refused: [400, 500],
  failed: [500, 1000],
};

export function auditConditions(filter: AuditFilter): Condition {
  const { scope, result } = filter;
  const columns = { team: filter.team, owner: filter.user, key_id: filter.keyId, action: filter.action, target: filter.target };
  return allOf([
    ...(scope.kind === "admin" ? [] : [{ sql: "a.team = ?", params: [scope.team] }]),
    ...(scope.kind === "admin" || scope.user === undefined ? [] : [{ sql: "a.owner = ?", params: [scope.user] }]),
    ...Object.entries(columns).flatMap(([column, value]) => (value === undefined ? [] : [{ sql: `a.${column} = ?`, params: [value] }])),
    ...(result === undefined ? [] : [{ sql: "a.status >= ? AND a.status < ?", params: statuses[result] }]),
  ]);
}
