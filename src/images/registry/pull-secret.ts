/**
 * Credentials for registries, as Kubernetes keeps them in secrets of type kubernetes.io/dockerconfigjson, and which of
 * them belong to an image by the kubelet's rules.
 */
import { Type } from "typebox";
import { digestOf } from "../digest.ts";
import { ImageError } from "../image-error.ts";
import { parseJsonAs } from "../json-shape.ts";
import { defaultRegistry } from "../reference.ts";

/** The content of a secret's `.dockerconfigjson`. */
export type PullSecret = string;

export interface Credential {
  readonly username: string;
  readonly password: string;
}

interface Entry {
  /** Host with optional port and path; host parts may be patterns. */
  readonly key: string;
  readonly credential: Credential;
}

const secretSchema = Type.Object({
  auths: Type.Record(
    Type.String(),
    Type.Object({ auth: Type.Optional(Type.String()), username: Type.Optional(Type.String()), password: Type.Optional(Type.String()) }),
  ),
});

export class Keyring {
  readonly #entries: readonly Entry[];

  constructor(secrets: readonly PullSecret[]) {
    // The more particular comes first: with equal starts the longer key sorts higher.
    this.#entries = secrets.flatMap(entriesOf).sort((a, b) => (a.key < b.key ? 1 : a.key > b.key ? -1 : 0));
  }

  /** Credentials for `repository` at `registry`, in the order in which to try them. */
  lookup(registry: string, repository: string): Credential[] {
    const found = this.#entries.filter(({ key }) => matches(key, registry, repository));
    if (found.length > 0 || registry !== defaultRegistry) return unique(found);
    // Docker has always kept the default registry's credentials under its older name.
    return unique(this.#entries.filter(({ key }) => key === `index.${defaultRegistry}`));
  }
}

/** The identity without credentials, or through a mirror that needs none. Image records contain the text. */
export const anonymous = "anybody";

/** A name for these credentials that does not reveal them. */
export function identityOf(registry: string, credential: Credential | undefined): string {
  if (credential === undefined) return anonymous;
  return digestOf(JSON.stringify([registry, credential.username, credential.password]));
}

function entriesOf(secret: PullSecret): Entry[] {
  const { auths } = parseJsonAs(secretSchema, secret, "the pull secret", "invalid_config");
  return Object.entries(auths).flatMap(([location, { auth = "", username = "", password = "" }]) => {
    // Docker writes an empty entry for a registry when it keeps the credentials elsewhere.
    if (auth === "" && username === "" && password === "") return [];
    return [{ key: keyOf(location), credential: auth === "" ? { username, password } : decodeAuth(auth, location) }];
  });
}

function decodeAuth(auth: string, location: string): Credential {
  const text = Buffer.from(auth, "base64").toString().replaceAll(/\0+$/g, "");
  const colon = text.indexOf(":");
  if (colon === -1) {
    throw new ImageError(
      "invalid_config",
      `the pull secret's auth for ${JSON.stringify(location)} is not the base64 form of user:password`,
    );
  }
  return { username: text.slice(0, colon), password: text.slice(colon + 1).trimEnd() };
}

/** Without scheme, and without the /v1/ or /v2/ that older tools put behind the host. */
function keyOf(location: string): string {
  const bare = location.replace(/^https?:\/\//, "").replace(/^([^/]*)\/v[12](?=\/|$)/, "$1");
  return bare.replace(/\/+$/, "");
}

function matches(key: string, registry: string, repository: string): boolean {
  const slash = key.indexOf("/");
  const [host, path] = slash === -1 ? [key, ""] : [key.slice(0, slash), key.slice(slash + 1)];
  return hostMatches(host, registry) && repository.startsWith(path);
}

/** Part by part: `*.example` is not `a.b.example`. Ports must be equal. */
function hostMatches(pattern: string, host: string): boolean {
  const [wanted, actual] = [splitPort(pattern), splitPort(host)];
  if (wanted.port !== actual.port) return false;
  const [patterns, parts] = [wanted.name.split("."), actual.name.split(".")];
  return patterns.length === parts.length && patterns.every((part, index) => globMatches(part, parts[index] ?? ""));
}

function splitPort(host: string): { name: string; port: string } {
  const [, name = host, port = ""] = /^(.*?)(?::(\d+))?$/.exec(host) ?? [];
  return { name, port };
}

function globMatches(pattern: string, text: string): boolean {
  // Also covers an IPv6 address: its brackets would be read as a pattern.
  if (pattern === text) return true;
  const source = pattern
    .replaceAll(/[.+^${}()|\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  try {
    return new RegExp(`^${source}$`).test(text);
  } catch {
    // An unfinished [ is no pattern.
    return false;
  }
}

function unique(entries: readonly Entry[]): Credential[] {
  const byText = new Map(entries.map(({ credential }) => [`${credential.username}\0${credential.password}`, credential]));
  return [...byText.values()];
}
