import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { HttpCaller } from "./http-caller.ts";

/** Without a namespace: the only pool of that name among those that the caller sees. */
export interface PoolName {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** All throw ClientError. */
export class PoolsClient {
  readonly #http: HttpCaller;

  constructor(http: HttpCaller) {
    this.#http = http;
  }

  async scale({ name, namespace }: PoolName, replicas: number, signal?: AbortSignal): Promise<SandboxPool> {
    const path = `/v1/pools/${encodeURIComponent(name)}/scale`;
    return await this.#http.json({ method: "PUT", path, query: { namespace }, body: { replicas }, signal });
  }
}
