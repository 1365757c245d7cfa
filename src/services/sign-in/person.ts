/** What a person that an OpenID Connect provider vouches for may do here: by its groups, the first rule that fits. Pure. */
import { createHash } from "node:crypto";
import { Value } from "typebox/value";
import { labelValue } from "#model/schema-builders.ts";
import type { Caller } from "#services/caller.ts";
import { ServiceError } from "#services/service-error.ts";
import { anyGroup, type GroupRule, type OidcSettings } from "./oidc-settings.ts";

export type Claims = Readonly<Record<string, unknown>>;

/** Before the name of a person, where the id of a key would stand. No key has such an id. */
const prefix = "oidc:";
const userName = labelValue("A user", { minLength: 1 });
/** Printable and without spaces, because it stands in logs and in columns. */
const printable = /^[\x21-\x7e]{1,128}$/;

export function isPerson({ keyId }: Pick<Caller, "keyId">): boolean {
  return keyId.startsWith(prefix);
}

/** Throws ServiceError with what is missing. */
export function callerFrom(settings: OidcSettings, claims: Claims): Caller {
  const name = nameIn(settings, claims);
  const groups = groupsIn(settings, claims);
  const rule = settings.groups.find(({ group }) => group === anyGroup || groups.includes(group));
  if (rule === undefined) throw refused(`none of your ${groups.length} groups at ${settings.name} has access to this server`);
  return { ...rightsOf(rule, name), keyId: `${prefix}${name}` };
}

function rightsOf(rule: GroupRule, name: string): Omit<Caller, "keyId"> {
  if (rule.role === "admin") return { role: "admin", team: "" };
  const { team, ownUser } = rule;
  if (!ownUser) return { role: "tenant", team };
  if (Value.Check(userName, name)) return { role: "tenant", team, user: name };
  const form = `letters, digits, "-", "_" and ".", at most 63, with a letter or digit at both ends`;
  throw refused(
    `your name ${JSON.stringify(name)} cannot be that of a user here, which has ${form}: an admin can choose another nameClaim`,
  );
}

function nameIn({ nameClaim, name }: OidcSettings, claims: Claims): string {
  const value = claimIn(claims, nameClaim);
  if (typeof value !== "string" || !printable.test(value)) {
    const what = value === undefined ? "does not say" : "says nothing usable as";
    throw refused(`${name} ${what} your ${nameClaim}, by which this server tells people apart: an admin must change nameClaim or scopes`);
  }
  if (nameClaim === "email" && claims["email_verified"] === false) {
    throw refused(`${name} has not verified your address ${value}: verify it there first`);
  }
  return value;
}

function groupsIn({ groupsClaim }: OidcSettings, claims: Claims): readonly string[] {
  const value = claimIn(claims, groupsClaim);
  return [value].flat().filter((group): group is string => typeof group === "string");
}

/** A claim of that very name, which may contain dots, or one inside objects. */
export function claimIn(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const part of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Claims)[part];
  }
  return value;
}

/** Changes with everything that decides about rights: sessions of other rules are over. */
export function markOfRules({ issuer, clientId, nameClaim, groupsClaim, groups }: OidcSettings): string {
  const text = JSON.stringify([issuer, clientId, nameClaim, groupsClaim, groups]);
  return createHash("sha256").update(text).digest("base64url").slice(0, 16);
}

function refused(message: string): ServiceError {
  return new ServiceError("forbidden", message);
}
