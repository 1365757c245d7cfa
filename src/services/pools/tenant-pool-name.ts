/**
 * Names of tenants' pools (ADR 25). All pools of a server are in one namespace, so two tenants may want the same name. Refusing the second request would
 * reveal the first tenant's pool (I8). So the names of a tenant's pools end in a suffix of that tenant, which only the server adds. The name with the
 * suffix is the pool's only name.
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
