/** The owners of a usage query in SQL, over the hours as `u`. */
import { allOf, type Condition } from "../conditions.ts";
import type { UsageQuery } from "./usage-store.ts";

export function usageConditions({ scope, team, user }: Pick<UsageQuery, "scope" | "team" | "user">): Condition {
  return allOf([
    ...(scope.kind === "admin" ? [] : [{ sql: "u.team = ?", params: [scope.team] }]),
    ...(scope.kind === "admin" || scope.user === undefined ? [] : [{ sql: "u.owner = ?", params: [scope.user] }]),
    ...(team === undefined ? [] : [{ sql: "u.team = ?", params: [team] }]),
    ...(user === undefined ? [] : [{ sql: "u.owner = ?", params: [user] }]),
  ]);
}
