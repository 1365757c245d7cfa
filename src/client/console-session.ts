/** Signing in to the web console: the browser then keeps a session cookie instead of the key and sends it by itself. */
import type { HttpCaller } from "./http-caller.ts";

export interface ConsoleSession {
  readonly caller: { readonly role: "admin" | "tenant"; readonly team: string; readonly user?: string; readonly keyId: string };
  /** Whether an admin acts as this caller. */
  readonly isActing: boolean;
  /** Domain of the sandboxes' hosts. */
  readonly domain: string;
  /** Address where local programs reach sandboxes without TLS. */
  readonly sandboxUrl?: string;
  readonly version: string;
}

/** Beside an API key. */
export interface SignInWays {
  /** An OpenID Connect provider, and what it is called. */
  readonly oidc?: { readonly name: string };
}

const path = "/console/session";

/** All throw ClientError. */
export class ConsoleSessionClient {
  readonly #http: HttpCaller;

  constructor(http: HttpCaller) {
    this.#http = http;
  }

  /** Undefined without a session. */
  async current(signal?: AbortSignal): Promise<ConsoleSession | undefined> {
    return await this.#http.json({ method: "GET", path, signal });
  }

  async signIn(key: string): Promise<ConsoleSession> {
    return await this.#http.json({ method: "POST", path, body: { key } });
  }

  async signOut(): Promise<void> {
    await this.#http.json({ method: "DELETE", path });
  }

  async ways(signal?: AbortSignal): Promise<SignInWays> {
    return await this.#http.json({ method: "GET", path: "/console/sign-in", signal });
  }

  /** Where the browser signs in. */
  async startOidc(): Promise<{ readonly url: string }> {
    return await this.#http.json({ method: "POST", path: "/console/oidc/start" });
  }

  /** With the query of the address at which the browser came back. */
  async finishOidc(answer: string): Promise<ConsoleSession> {
    return await this.#http.json({ method: "POST", path: "/console/oidc/finish", body: { answer } });
  }

  /** Notes that an admin begins to act as the tenant in the headers of this request. */
  async act(): Promise<ConsoleSession> {
    return await this.#http.json({ method: "POST", path: "/console/acting" });
  }
}
