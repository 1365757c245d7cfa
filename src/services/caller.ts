/**
 * Who asks. Every use case takes one, and what is not the caller's is as if it did not exist (I8).
 *
 * - An admin sees everything. Impersonating somebody, he is that caller, and nothing more.
 * - A tenant is a team, or one user of it. Sandboxes and pools carry their owner's team and user as labels; those of the team are
 *   seen by a key of the whole team, those of a user only by him and by keys of the whole team.
 * - A pool or template that has no owner is everybody's to use, and an admin's to change.
 */
import { labelKeys } from "#model/keys.ts";
import type { ApiObject } from "#model/meta.ts";
import type { HistoryScope } from "#store/history-store.ts";

export interface Caller {
  readonly role: "admin" | "tenant";
  /** Empty for an admin who acts as himself. */
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

/** True for what the caller owns and for what is everybody's. */
export function mayUse(caller: Caller, object: ApiObject): boolean {
  const { labels } = object.metadata;
  const hasOwner = (labels?.[labelKeys.team] ?? "") !== "" || (labels?.[labelKeys.user] ?? "") !== "";
  return !hasOwner || owns(caller, object) || isTeamsOwn(caller, object);
}

/** What a whole team was given, each of its users may use. */
function isTeamsOwn({ team }: Caller, { metadata: { labels } }: ApiObject): boolean {
  return team !== "" && labels?.[labelKeys.team] === team && (labels[labelKeys.user] ?? "") === "";
}
