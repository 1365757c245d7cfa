/** Signing in to the web console: the browser then keeps a session cookie instead of the key and sends it by itself. */
import type { HttpCaller } from "./http-caller.ts";

export interface ConsoleSession {
  readonly caller: { readonly role: "admin" | "tenant"; readonly team: string; readonly user?: string; readonly keyId: string };
  /** Domain of the sandboxes' hosts. */
  readonly domain: string;
  /** Address where local programs reach sandboxes without TLS. */
  readonly sandboxUrl?: string;
  readonly version: string;
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
}
