/** Which keys a caller may create: never one with more rights or a longer validity than its own. Pure. */
import { Value } from "typebox/value";
import { labelValue } from "#model/schema-builders.ts";
import type { Caller } from "../caller.ts";
import { ServiceError } from "../service-error.ts";
import type { ApiKeyView } from "./key-secret.ts";

export interface CreateKey {
  readonly role?: "admin" | "tenant";
  readonly team?: string;
  readonly user?: string;
  readonly name?: string;
  /** ISO 8601; left out: never. */
  readonly expiresAt?: string;
}

const ownerName = labelValue("A team or a user", { minLength: 1 });
const longestName = 200;

/** What the new key will be, with the caller's own team and user where nothing was said. Throws ServiceError. */
export function grantedKey(caller: Caller, wish: CreateKey, own: ApiKeyView | undefined, now: number): Omit<ApiKeyView, "id"> {
  const owner = caller.role === "admin" ? adminsChoice(wish) : tenantsChoice(caller, wish);
  const name = (wish.name ?? "").trim();
  if (name.length > longestName) throw invalid("name", `may have ${longestName} characters, not ${name.length}`);
  return { ...owner, name, createdAt: new Date(now).toISOString(), ...expiry(wish.expiresAt, own?.expiresAt, now) };
}

type Owner = Pick<ApiKeyView, "role" | "team" | "user">;

function adminsChoice({ role = "tenant", team, user }: CreateKey): Owner {
  if (role === "admin") {
    if (team !== undefined || user !== undefined) throw invalid(team === undefined ? "user" : "team", "an admin key belongs to no team");
    return { role };
  }
  if (team === undefined) throw invalid("team", "a tenant's key needs a team; for an admin key say role: admin");
  return { role, team: checkedOwner("team", team), ...(user !== undefined && { user: checkedOwner("user", user) }) };
}

function tenantsChoice(caller: Caller, { role = "tenant", team = caller.team, user = caller.user }: CreateKey): Owner {
  if (role === "admin") throw new ServiceError("forbidden", "only an admin key can create admin keys", { field: "role" });
  if (team !== caller.team)
    throw new ServiceError("forbidden", `this key can only create keys for its own team ${caller.team}`, { field: "team" });
  if (caller.user !== undefined && user !== caller.user) {
    throw new ServiceError("forbidden", `this key can only create keys for its own user ${caller.user}`, { field: "user" });
  }
  return { role, team, ...(user !== undefined && { user: checkedOwner("user", user) }) };
}

function expiry(wished: string | undefined, limit: string | undefined, now: number): { readonly expiresAt?: string } {
  if (wished === undefined) {
    if (limit === undefined) return {};
    return { expiresAt: limit };
  }
  const at = Date.parse(wished);
  if (Number.isNaN(at)) throw invalid("expiresAt", `must be a time such as 2030-01-31T12:00:00Z, not ${JSON.stringify(wished)}`);
  if (at <= now) throw invalid("expiresAt", "is in the past");
  if (limit !== undefined && at > Date.parse(limit)) {
    throw new ServiceError("forbidden", `the new key cannot be valid longer than this key, which expires at ${limit}`, {
      field: "expiresAt",
    });
  }
  return { expiresAt: new Date(at).toISOString() };
}

/** The name of a team or user, of which there may be nothing yet. Throws ServiceError. */
export function checkedOwner(field: string, name: string): string {
  if (Value.Check(ownerName, name)) return name;
  throw invalid(field, `must be 1 to 63 letters, digits, "-", "_" or ".", with a letter or digit at both ends`);
}

function invalid(field: string, what: string): ServiceError {
  return new ServiceError("invalid_request", `${field}: ${what}`, { field });
}
