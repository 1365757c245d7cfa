/**
 * The file that describes sign-in by an OpenID Connect provider, in YAML or JSON:
 *
 *     issuer: https://login.example.com/realms/main
 *     clientId: agentbox
 *     clientSecretFile: ./client-secret       # beside this file; left out for a client without a secret
 *     url: https://agentbox.example.com       # the console, as browsers reach it
 *     name: Example login                     # on the button; the host of the issuer when left out
 *     scopes: [openid, profile, groups]
 *     nameClaim: preferred_username           # what a person is called, in the audit log and as a user of a team
 *     groupsClaim: groups                     # a name, or a path such as realm_access.roles
 *     session: 8h                             # how long a session lasts
 *     groups:                                 # the first that a person is in decides
 *       - { group: platform, role: admin }
 *       - { group: research, team: red }
 *       - { group: "*", team: guests, ownUser: true }
 *
 * Pure: whatever is wrong is said with the place in the file and what would be right.
 */
import { Value } from "typebox/value";
import { parse } from "yaml";
import { parseDuration } from "#model/duration.ts";
import { labelValue } from "#model/schema-builders.ts";

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecretFile?: string;
  /** The origin of the console. */
  readonly url: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly nameClaim: string;
  readonly groupsClaim: string;
  readonly sessionMs: number;
  readonly groups: readonly GroupRule[];
}

export type GroupRule = { readonly group: string } & (
  | { readonly role: "admin" }
  /** With `ownUser`, each person has only what is its own; else what is the team's. */
  | { readonly role: "tenant"; readonly team: string; readonly ownUser: boolean }
);

/** The group of all that can sign in. */
export const anyGroup = "*";

export class OidcSettingsError extends Error {
  override readonly name = "OidcSettingsError";
}

type Fields = Readonly<Record<string, unknown>>;

const known = ["issuer", "clientId", "clientSecretFile", "url", "name", "scopes", "nameClaim", "groupsClaim", "session", "groups"] as const;
const [leastSessionMs, mostSessionMs, usualSessionMs] = [60_000, 7 * 24 * 3_600_000, 8 * 3_600_000];
const teamName = labelValue("A team", { minLength: 1 });

/** Throws OidcSettingsError. */
export function readOidcSettings(text: string): OidcSettings {
  const fields = fieldsOf(parsed(text), "the file", known);
  const issuer = addressOf(fields["issuer"], "issuer");
  const url = addressOf(fields["url"], "url");
  if (url.pathname !== "/" || url.search !== "") throw wrong("url", `must end after the host, such as ${url.origin}`);
  const { clientSecretFile, scopes = ["openid", "profile"], session } = fields;
  return {
    issuer: issuer.href,
    clientId: textOf(fields["clientId"], "clientId"),
    ...(clientSecretFile !== undefined && { clientSecretFile: textOf(clientSecretFile, "clientSecretFile") }),
    url: url.origin,
    name: fields["name"] === undefined ? issuer.host : textOf(fields["name"], "name"),
    scopes: scopesOf(scopes),
    nameClaim: fields["nameClaim"] === undefined ? "preferred_username" : textOf(fields["nameClaim"], "nameClaim"),
    groupsClaim: fields["groupsClaim"] === undefined ? "groups" : textOf(fields["groupsClaim"], "groupsClaim"),
    sessionMs: session === undefined ? usualSessionMs : durationOf(session),
    groups: groupsOf(fields["groups"]),
  };
}

function parsed(text: string): unknown {
  try {
    return parse(text, { maxAliasCount: 100, logLevel: "error" }) ?? {};
  } catch (error) {
    throw new OidcSettingsError(`it is neither YAML nor JSON: ${(error as Error).message.split("\n", 1)[0] ?? ""}`);
  }
}

/** Codes and tokens go over this connection: without TLS only on this machine. */
function addressOf(value: unknown, place: string): URL {
  const text = textOf(value, place);
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw wrong(place, `must be an https address, not ${JSON.stringify(text)}`);
  }
  if (url.protocol === "http:" && !isThisMachine(url.hostname)) {
    throw wrong(place, `must begin with https://, not ${JSON.stringify(text)}: http is for addresses of this machine only`);
  }
  if (url.username !== "" || url.password !== "" || url.hash !== "")
    throw wrong(place, "must be without a user, a password and a fragment");
  return url;
}

export function isThisMachine(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127\.[\d.]+$/.test(host);
}

function scopesOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw wrong("scopes", "must be a list such as [openid, profile, groups]");
  const scopes = value.map((scope: unknown, index) => textOf(scope, `scopes[${index}]`));
  const spaced = scopes.find((scope) => /\s/.test(scope));
  if (spaced !== undefined) throw wrong("scopes", `must have one scope in each entry, not ${JSON.stringify(spaced)}`);
  if (!scopes.includes("openid")) throw wrong("scopes", "must contain openid");
  return scopes;
}

function groupsOf(value: unknown): readonly GroupRule[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw wrong("groups", "must say what which group may, such as - { group: research, team: red }");
  }
  return value.map((entry, index) => ruleOf(entry, `groups[${index}]`));
}

function ruleOf(entry: unknown, place: string): GroupRule {
  const fields = fieldsOf(entry, place, ["group", "role", "team", "ownUser"]);
  const group = textOf(fields["group"], `${place}.group`);
  const { role, team, ownUser = false } = fields;
  if (role !== undefined && role !== "admin") throw wrong(`${place}.role`, `must be admin or left out, not ${JSON.stringify(role)}`);
  if (typeof ownUser !== "boolean") throw wrong(`${place}.ownUser`, `must be true or false, not ${JSON.stringify(ownUser)}`);
  if ((role === undefined) === (team === undefined)) throw wrong(place, "needs either a team or role: admin");
  if (role === "admin") {
    if (ownUser) throw wrong(`${place}.ownUser`, "belongs to groups with a team");
    if (group === anyGroup)
      throw wrong(`${place}.group`, `must name a group: ${JSON.stringify(anyGroup)} would make an admin of each person`);
    return { group, role };
  }
  if (!Value.Check(teamName, team)) {
    throw wrong(`${place}.team`, `must be 1 to 63 letters, digits, "-", "_" or ".", with a letter or digit at both ends`);
  }
  return { group, role: "tenant", team, ownUser };
}

function fieldsOf(value: unknown, place: string, names: readonly string[]): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrong(place, "must be an object");
  const unknown = Object.keys(value).find((field) => !names.includes(field));
  if (unknown !== undefined) throw wrong(place, `has no field ${JSON.stringify(unknown)}: the fields are ${names.join(", ")}`);
  return value as Fields;
}

function textOf(value: unknown, place: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw wrong(place, value === undefined ? "is needed" : `must be a text, not ${JSON.stringify(value)}`);
}

function durationOf(value: unknown): number {
  try {
    const ms = parseDuration(textOf(value, "session"));
    if (ms >= leastSessionMs && ms <= mostSessionMs) return ms;
  } catch (error) {
    if (error instanceof OidcSettingsError) throw error;
  }
  throw wrong("session", `must be a duration from 1m to 168h, not ${JSON.stringify(value)}`);
}

function wrong(place: string, what: string): OidcSettingsError {
  return new OidcSettingsError(`${place} ${what}`);
}
