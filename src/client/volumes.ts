import type { HttpCaller } from "./http-caller.ts";
import type { Volume, VolumeWithToken, CreateVolume as VolumeWish } from "./generated/api-types.generated.ts";

export type { Volume, VolumeWithToken, VolumeWish };

export class VolumesClient {
  readonly #http: HttpCaller;

  constructor(http: HttpCaller) {
    this.#http = http;
  }

  async create(wish: VolumeWish): Promise<VolumeWithToken> {
    return await this.#http.json({ method: "POST", path: "/v1/volumes", body: wish });
  }

  async list(): Promise<readonly Volume[]> {
    return (await this.#http.json<{ readonly volumes: readonly Volume[] }>({ method: "GET", path: "/v1/volumes" })).volumes;
  }

  async get(nameOrId: string): Promise<VolumeWithToken> {
    return await this.#http.json({ method: "GET", path: `/v1/volumes/${encodeURIComponent(nameOrId)}` });
  }

  async remove(nameOrId: string, options: { readonly force?: boolean } = {}): Promise<void> {
    await this.#http.json({ method: "DELETE", path: `/v1/volumes/${encodeURIComponent(nameOrId)}`, query: { force: options.force } });
  }
}
