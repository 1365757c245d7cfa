/**
 * The caller of a use case. For a caller, foreign objects do not exist (I8).
 *
 * - An admin sees everything. An admin that acts as another caller has only that caller's rights.
 * - A tenant is a team, or one user of a team. Sandboxes and pools have their owner's team and user as labels. A team's key sees objects of the team and
 * of its users; a user's key sees only the user's.
 * - A pool or template without an owner is for every caller to use, and for admins to change.
 */
import { labelKeys } from "#model/keys.ts";
import type { ApiObject } from "#model/meta.ts";
import type { HistoryScope } from "#store/history-store.ts";

export interface Caller {
  readonly role: "admin" | "tenant";
  /** Empty for an admin that acts as itself. */
  readonly team: string;
  /** Left out: the whole team. */
  readonly user?: string;
  /** For logs and rate limits: which key, never the key itself. */
  readonly keyId: string;
}

export function scopeOf({ role, team, user }: Caller): HistoryScope {
  if (role === "admin") return { kind: "admin" };
  return { kind: "tenant", team, ...(user === undefined ? {} : { user }) };
}

/** True for an object of the caller's own, and for an admin. A tenant without a team has nothing. */
export function owns({ role, team, user }: Caller, { metadata: { labels } }: ApiObject): boolean {
  if (role === "admin") return true;
  if (team === "" || labels?.[labelKeys.team] !== team) return false;
  return user === undefined || labels[labelKeys.user] === user;
}

/** True for objects that the caller owns, and for those without an owner. */
export function mayUse(caller: Caller, object: ApiObject): boolean {
  const { labels } = object.metadata;
  const hasOwner = (labels?.[labelKeys.team] ?? "") !== "" || (labels?.[labelKeys.user] ?? "") !== "";
  return !hasOwner || owns(caller, object) || isTeamsOwn(caller, object);
}

/** What a whole team was given, each of its users may use. */
function isTeamsOwn({ team }: Caller, { metadata: { labels } }: ApiObject): boolean {
  return team !== "" && labels?.[labelKeys.team] === team && (labels[labelKeys.user] ?? "") === "";
}
