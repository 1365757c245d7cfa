/** Answers challenges: tokens are fetched when a registry asks for one, and kept until they run out. */
import { createHash } from "node:crypto";
import { Type } from "typebox";
import type { Clock } from "#lib/clock.ts";
import { ImageError } from "../image-error.ts";
import { parseJsonAs } from "../json-shape.ts";
import { type Challenge, parseChallenges } from "./challenge.ts";
import { notAllowed, type Outbound } from "./outbound.ts";
import type { Credential } from "./pull-secret.ts";
import { type Answer, readUpTo, type Transport } from "./transport.ts";

/** What access is wanted for, and with which credential. */
export interface Access {
  /** Of the endpoint. */
  readonly url: string;
  readonly repository: string;
  readonly actions: "pull" | "pull,push";
  readonly credential: Credential | undefined;
}

const tokenSchema = Type.Object({
  token: Type.Optional(Type.String()),
  access_token: Type.Optional(Type.String()),
  expires_in: Type.Optional(Type.Number()),
});

/** What the token specification says holds if the server does not. */
const usualLifeSeconds = 60;
/** A token must outlive the request that it is sent with. */
const usableShare = 0.8;
const maxTokenBytes = 1024 * 1024;
const maxKept = 1000;

export interface AuthorizerDeps {
  readonly transport: Transport;
  readonly outbound: Outbound;
  readonly clock: Clock;
}

export class Authorizer {
  readonly #transport: Transport;
  readonly #outbound: Outbound;
  readonly #clock: Clock;
  readonly #kept = new Map<string, { readonly header: string; readonly until: number }>();

  constructor({ transport, outbound, clock }: AuthorizerDeps) {
    this.#transport = transport;
    this.#outbound = outbound;
    this.#clock = clock;
  }

  /** The Authorization header that worked last time. */
  known(access: Access): string | undefined {
    const kept = this.#kept.get(keyOf(access));
    return kept !== undefined && kept.until > this.#clock.now() ? kept.header : undefined;
  }

  /** The Authorization header that a 401 asks for; undefined if there is no way to satisfy it. */
  async answer(access: Access, refused: Pick<Answer, "headers">, signal: AbortSignal | undefined): Promise<string | undefined> {
    const challenges = parseChallenges(refused.headers["www-authenticate"] ?? []);
    const bearer = challenges.find(({ scheme }) => scheme === "bearer");
    if (bearer !== undefined) return this.#keep(access, await this.#fetchToken(access, bearer, signal));
    const { credential } = access;
    if (credential === undefined || !challenges.some(({ scheme }) => scheme === "basic")) return undefined;
    return this.#keep(access, { header: basic(credential), until: Infinity });
  }

  /** The header was refused: do not use it again. */
  forget(access: Access): void {
    this.#kept.delete(keyOf(access));
  }

  #keep(access: Access, kept: { readonly header: string; readonly until: number }): string {
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= maxKept && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(keyOf(access), kept);
    return kept.header;
  }

  async #fetchToken(
    access: Access,
    { parameters }: Challenge,
    signal: AbortSignal | undefined,
  ): Promise<{ header: string; until: number }> {
    const { credential, repository, actions } = access;
    const what = `a token for ${repository}`;
    const registry = new URL(access.url);
    const url = realmOf(registry, parameters["realm"], what);
    this.#outbound.checkTokenServer(what, registry, url);
    if (parameters["service"] !== undefined) url.searchParams.set("service", parameters["service"]);
    url.searchParams.set("scope", parameters["scope"] ?? `repository:${repository}:${actions}`);
    if (credential !== undefined) url.searchParams.set("account", credential.username);
    const began = this.#clock.now();
    const authorization = credential === undefined ? undefined : basic(credential);
    const answer = await this.#transport.send({ method: "GET", url, registry, staysThere: true, authorization, what, signal });
    if (answer.status !== 200) throw await this.#transport.refused(what, answer);
    const text = await readUpTo(answer, maxTokenBytes);
    const { token, access_token, expires_in } = parseJsonAs(tokenSchema, text, `the answer to ${what}`, "registry_protocol");
    const given = token ?? access_token;
    if (given === undefined || given === "") {
      throw new ImageError("registry_protocol", `${what}: the answer of the token server holds none`, { detail: `from ${url.origin}` });
    }
    return { header: `Bearer ${given}`, until: began + (expires_in ?? usualLifeSeconds) * usableShare * 1000 };
  }
}

/** The token server, to which credentials go: never in the clear if the registry itself is not. */
function realmOf(registry: URL, realm: string | undefined, what: string): URL {
  const url = realm !== undefined && URL.canParse(realm) ? new URL(realm) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    const detail = `${registry.origin} names ${JSON.stringify(realm ?? "")}`;
    throw new ImageError("registry_protocol", `${what}: the registry names no token server`, { detail });
  }
  if (url.protocol === "http:" && registry.protocol === "https:") {
    throw notAllowed(what, `${registry.origin} wants credentials sent in the clear to ${url.origin}`);
  }
  return url;
}

function basic({ username, password }: Credential): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

/** Passwords do not stay in memory as keys. */
function keyOf({ url, repository, actions, credential }: Access): string {
  return createHash("sha256")
    .update(JSON.stringify([url, repository, actions, credential?.username, credential?.password]))
    .digest("hex");
}
