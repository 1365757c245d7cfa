/** Signing in to the web console: the browser then keeps a session in place of the key, and sends it by itself. */
import type { HttpCaller } from "./http-caller.ts";

export interface ConsoleSession {
  readonly caller: { readonly role: "admin" | "tenant"; readonly team: string; readonly user?: string; readonly keyId: string };
  /** Whose hosts sandboxes are. */
  readonly domain: string;
  /** Where programs of this machine reach sandboxes without TLS. */
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

  /** Undefined when there is none. */
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
