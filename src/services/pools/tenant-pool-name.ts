/**
 * The names of tenants' pools (ADR 25). All pools of a server stand in one namespace, so two tenants who want one name would meet: the
 * second would be told that it is taken, and so of the first (I8). Each tenant's pools therefore end in a mark of his own, which the
 * server adds and which nobody else can write. The name with the mark is the pool's only name.
 */
import { createHash } from "node:crypto";
import type { Caller } from "#services/caller.ts";
import { ServiceError } from "#services/service-error.ts";

const markLength = 8;
const maxNameLength = 63;
const longest = maxNameLength - markLength - 1;

/** The same for the same tenant and wish, also for a name that has the mark already. */
export function tenantPoolName(owner: Pick<Caller, "team" | "user">, wished: string): string {
  const mark = `-${markOf(owner)}`;
  const bare = wished.endsWith(mark) ? wished.slice(0, -mark.length) : wished;
  if (bare.length >= 1 && bare.length <= longest) return bare + mark;
  const field = "metadata.name";
  throw new ServiceError("invalid_request", `${field} must have 1 to ${longest} characters, not ${bare.length}`, { field });
}

/** By hash, so that no team can take a name that makes it look like another, and cut where no two tenants of a server will meet. */
function markOf({ team, user = "" }: Pick<Caller, "team" | "user">): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([team, user]))
    .digest();
  return [...digest.subarray(0, markLength)].map((byte) => alphabet[byte % alphabet.length]).join("");
}

/** Without vowels, which would make words, and without what looks alike. */
const alphabet = "bcdfghjkmnpqrstvwxz23456789";
