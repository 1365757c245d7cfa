/**
 * Sign-in to the console by an OpenID Connect provider: the authorization code flow with PKCE, state and nonce. Nothing is kept on the server between its two
 * steps: the browser keeps what the second one needs, sealed against changes, so any process can take it.
 *
 * - `oidc-settings.ts`  the file that describes the provider (pure)   - `person.ts`  what a person may do (pure)
 */
import type { KeyObject } from "node:crypto";
import * as openid from "openid-client";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Caller } from "#services/caller.ts";
import { SignedText } from "#services/keys/signed-text.ts";
import { ServiceError } from "#services/service-error.ts";
import { isThisMachine, type OidcSettings } from "./oidc-settings.ts";
import { callerFrom, type Claims, claimIn, markOfRules } from "./person.ts";

export interface OidcSignInOptions {
  readonly settings: OidcSettings;
  readonly clientSecret?: string | undefined;
  /** The control plane's. */
  readonly privateKey: KeyObject;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface StartedSignIn {
  /** Where the browser goes. */
  readonly url: string;
  /** What the browser keeps until it comes back. */
  readonly flow: string;
  readonly lifetimeMs: number;
}

interface Flow {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly expiresAt: number;
}

const flowMs = 10 * 60_000;
const longestFlow = 1024;
const answerSeconds = 10;
/** Providers change their addresses rarely; keys that they sign with are looked up when a new one comes. */
const rediscoverMs = 3_600_000;
/** Each is a request or two to the provider, and anyone may send one without a key. */
const mostAtOnce = 20;

export const callbackPath = "/console/oidc";

export class OidcSignIn {
  readonly settings: OidcSettings;
  /** For the sessions that it leads to. */
  readonly rules: string;
  readonly #options: OidcSignInOptions;
  readonly #flows: SignedText<Flow>;
  #provider: { readonly found: Promise<openid.Configuration>; readonly at: number } | undefined;
  #open = 0;

  constructor(options: OidcSignInOptions) {
    this.#options = options;
    this.settings = options.settings;
    this.rules = markOfRules(options.settings);
    this.#flows = new SignedText({ ...options, purpose: "agentbox oidc sign-in v1", longest: longestFlow });
  }

  async start(): Promise<StartedSignIn> {
    return await this.#bounded(async () => {
      const provider = await this.#discovered();
      const verifier = openid.randomPKCECodeVerifier();
      const [state, nonce] = [openid.randomState(), openid.randomNonce()];
      const url = openid.buildAuthorizationUrl(provider, {
        redirect_uri: `${this.settings.url}${callbackPath}`,
        scope: this.settings.scopes.join(" "),
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        state,
        nonce,
      });
      const flow = this.#flows.write({ state, nonce, verifier, expiresAt: this.#options.clock.now() + flowMs });
      return { url: url.href, flow, lifetimeMs: flowMs };
    });
  }

  /** `answer`: the query with which the provider sent the browser back. Throws ServiceError. */
  async finish(flow: string, answer: string): Promise<Caller> {
    const started = this.#flows.read(flow);
    if (started === undefined || started.expiresAt <= this.#options.clock.now()) {
      throw new ServiceError("unauthenticated", "this sign-in was started in another browser, or more than ten minutes ago: start again");
    }
    if (new URLSearchParams(answer).get("state") !== started.state) {
      throw new ServiceError("unauthenticated", "this is the answer to another sign-in, maybe of another page: start again");
    }
    return await this.#bounded(async () => callerFrom(this.settings, await this.#claims(started, answer)));
  }

  async #claims({ state, nonce, verifier }: Flow, answer: string): Promise<Claims> {
    const provider = await this.#discovered();
    const address = new URL(`${this.settings.url}${callbackPath}`);
    address.search = answer;
    const tokens = await openid.authorizationCodeGrant(provider, address, {
      pkceCodeVerifier: verifier,
      expectedState: state,
      expectedNonce: nonce,
      idTokenExpected: true,
    });
    const claims: Claims = { ...tokens.claims() };
    const { nameClaim, groupsClaim } = this.settings;
    const isComplete = claimIn(claims, nameClaim) !== undefined && claimIn(claims, groupsClaim) !== undefined;
    if (isComplete || provider.serverMetadata().userinfo_endpoint === undefined) return claims;
    // Many providers tell groups and names only there.
    return { ...(await openid.fetchUserInfo(provider, tokens.access_token, String(claims["sub"]))), ...claims };
  }

  #discovered(): Promise<openid.Configuration> {
    const { clock } = this.#options;
    const { issuer, clientId } = this.settings;
    if (this.#provider !== undefined && clock.now() - this.#provider.at < rediscoverMs) return this.#provider.found;
    const server = new URL(issuer);
    const execute = [openid.enableNonRepudiationChecks, ...(isThisMachine(server.hostname) ? [openid.allowInsecureRequests] : [])];
    const found = openid.discovery(server, clientId, undefined, this.#clientAuthentication(), { execute, timeout: answerSeconds });
    this.#provider = { found, at: clock.now() };
    found.catch(() => {
      this.#provider = undefined;
    });
    return found;
  }

  #clientAuthentication(): openid.ClientAuth {
    const { clientSecret } = this.#options;
    if (clientSecret === undefined) return openid.None();
    const [basic, post] = [openid.ClientSecretBasic(clientSecret), openid.ClientSecretPost(clientSecret)];
    return (server, ...rest) => {
      const { token_endpoint_auth_methods_supported: methods = ["client_secret_basic"] } = server;
      (methods.includes("client_secret_basic") ? basic : post)(server, ...rest);
    };
  }

  async #bounded<T>(work: () => Promise<T>): Promise<T> {
    if (this.#open >= mostAtOnce) {
      throw new ServiceError("rate_limited", `${mostAtOnce} sign-ins are under way: try again in a moment`, { retryAfterSeconds: 2 });
    }
    this.#open++;
    try {
      return await work();
    } catch (error) {
      throw this.#explained(error);
    } finally {
      this.#open--;
    }
  }

  /** What a provider writes goes to the log only: any page can write the address that the browser comes back with. */
  #explained(error: unknown): unknown {
    if (error instanceof ServiceError) return error;
    const { name } = this.settings;
    const { error: told } = error as { readonly error?: unknown };
    const code = typeof told === "string" && /^[a-z_]{1,40}$/.test(told) ? told : undefined;
    this.#options.log.warn({ error, issuer: this.settings.issuer }, "sign-in by OpenID Connect failed");
    if (error instanceof openid.AuthorizationResponseError)
      return new ServiceError("forbidden", `${name} did not let you in: ${code ?? "no reason"}`);
    if (error instanceof openid.ResponseBodyError && code === "invalid_grant") {
      return new ServiceError("unauthenticated", "this sign-in was used already, or took too long: start again");
    }
    const isRefusal = error instanceof openid.ResponseBodyError || error instanceof openid.WWWAuthenticateChallengeError;
    const what = isRefusal ? `${name} refuses this server (${code ?? error.status})` : `sign-in by ${name} failed`;
    return new ServiceError("unavailable", `${what}: the log of the server says why`, { cause: error });
  }
}
