import type { HttpCaller } from "./http-caller.ts";
import type { Key as ApiKeyInfo, CreatedKey as NewApiKey, CreateKey as ApiKeyWish } from "./generated/api-types.generated.ts";

export type { ApiKeyInfo, NewApiKey, ApiKeyWish };

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
