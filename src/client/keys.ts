import type { HttpCaller } from "./http-caller.ts";

export interface ApiKeyInfo {
  readonly id: string;
  readonly role: "admin" | "tenant";
  readonly team?: string;
  readonly user?: string;
  readonly name: string;
  readonly createdAt: string;
  readonly expiresAt?: string;
  /** Id of the key that created it. */
  readonly createdBy?: string;
  /** Managed by a hub, and revoked there. */
  readonly source?: "global";
}

export interface NewApiKey extends ApiKeyInfo {
  /** Shown only here. */
  readonly key: string;
}

export interface ApiKeyWish {
  readonly role?: "admin" | "tenant";
  readonly team?: string;
  readonly user?: string;
  readonly name?: string;
  readonly expiresAt?: string;
}

export class KeysClient {
  readonly #http: HttpCaller;

  constructor(http: HttpCaller) {
    this.#http = http;
  }

  async create(wish: ApiKeyWish): Promise<NewApiKey> {
    return await this.#http.json({ method: "POST", path: "/v1/keys", body: wish });
  }

  async list(): Promise<readonly ApiKeyInfo[]> {
    return (await this.#http.json<{ readonly keys: readonly ApiKeyInfo[] }>({ method: "GET", path: "/v1/keys" })).keys;
  }

  /** `made`: what happens to the keys created with it; revoked when left out. */
  async revoke(id: string, made?: "revoke" | "keep"): Promise<void> {
    const query = made === undefined ? "" : `?made=${made}`;
    await this.#http.json({ method: "DELETE", path: `/v1/keys/${encodeURIComponent(id)}${query}` });
  }
}
