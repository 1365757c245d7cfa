/** API keys as objects: one Secret each in the system namespace, named after the hash, so that looking a key up is looking up a name. */
import { type Secret, Secrets } from "#model/core-kinds.ts";
import { apiKeySecretType, isGlobal, labelKeys } from "#model/keys.ts";
import type { OwnerReference } from "#model/meta.ts";
import { keyIdOf } from "./api-key.ts";

/** What is known of a key; never the key itself. */
export interface ApiKeyView {
  readonly id: string;
  readonly role: "admin" | "tenant";
  /** Left out for an admin. */
  readonly team?: string;
  /** Left out: the whole team. */
  readonly user?: string;
  /** What it is for, for people. */
  readonly name: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly expiresAt?: string;
  /** The id of the key that made it, or the person, as `oidc:` and its name; left out for the first one, and for keys of versions that did not note it. */
  readonly createdBy?: string;
  /** Present on a key that a hub keeps in step in all of its clusters: it is revoked there. */
  readonly source?: "global";
}

export interface StoredKey extends ApiKeyView {
  /** SHA-256, hex. */
  readonly hash: string;
}

export function keySecretName(id: string): string {
  return `agentbox-key-${id}`;
}

/** With `maker`, the Secret of the key that made it: the key ends with that one. The server's garbage collector sees to it, too. */
export function keySecret(namespace: string, key: Omit<StoredKey, "id">, maker?: Secret): Secret {
  const { hash, team, user, source: _, ...rest } = key;
  const labels = { ...(team !== undefined && { [labelKeys.team]: team }), ...(user !== undefined && { [labelKeys.user]: user }) };
  return {
    metadata: { namespace, name: keySecretName(keyIdOf(hash)), labels, ...(maker !== undefined && { ownerReferences: [madeBy(maker)] }) },
    type: apiKeySecretType,
    immutable: true,
    data: Object.fromEntries(Object.entries({ hash, ...rest }).map(([name, value]) => [name, Buffer.from(value).toString("base64")])),
  };
}

function madeBy({ metadata: { name = "", uid = "" } }: Secret): OwnerReference {
  return { apiVersion: "v1", kind: Secrets.kind, name, uid };
}

/** The key that this one ends with. */
export function makerOf({ metadata: { ownerReferences = [] } }: Secret): OwnerReference | undefined {
  return ownerReferences.find(({ kind }) => kind === Secrets.kind);
}

/** Undefined for Secrets that are something else, or that are no key of a form that we know: those open nothing. */
export function storedKey(secret: Secret): StoredKey | undefined {
  if (secret.type !== apiKeySecretType || secret.metadata.deletionTimestamp !== undefined) return undefined;
  const read = (name: string): string => Buffer.from(secret.data?.[name] ?? "", "base64").toString();
  const hash = read("hash");
  const owner = ownerOf(read("role"), secret);
  const expiresAt = read("expiresAt");
  const createdBy = read("createdBy");
  if (!/^[0-9a-f]{64}$/.test(hash) || owner === undefined) return undefined;
  return {
    id: keyIdOf(hash),
    hash,
    ...owner,
    name: read("name"),
    createdAt: read("createdAt"),
    ...(expiresAt !== "" && { expiresAt }),
    ...(createdBy !== "" && { createdBy }),
    ...(isGlobal(secret) && { source: "global" as const }),
  };
}

function ownerOf(role: string, { metadata: { labels = {} } }: Secret): Pick<ApiKeyView, "role" | "team" | "user"> | undefined {
  if (role === "admin") return { role };
  const team = labels[labelKeys.team] ?? "";
  const user = labels[labelKeys.user] ?? "";
  if (role !== "tenant" || team === "") return undefined;
  return { role, team, ...(user !== "" && { user }) };
}

/** A key whose end cannot be read has ended. */
export function hasExpired({ expiresAt }: ApiKeyView, now: number): boolean {
  return expiresAt !== undefined && !(Date.parse(expiresAt) > now);
}
