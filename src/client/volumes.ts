import type { HttpCaller } from "./http-caller.ts";

export interface Volume {
  readonly id: string;
  readonly name: string;
  readonly sizeMiB: number;
  readonly usedMiB?: number;
  readonly phase: "Pending" | "Ready" | "Failed" | "Deleting";
  readonly message?: string;
  readonly team?: string;
  readonly user?: string;
  readonly createdAt: string;
  /** Ids of the sandboxes that have it mounted. */
  readonly mountedBy: readonly string[];
}

export interface VolumeWithToken extends Volume {
  /** For its files. */
  readonly token: string;
}

export interface VolumeWish {
  readonly name: string;
  readonly sizeMiB?: number;
}

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
