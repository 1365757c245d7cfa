import type { SandboxPool } from "#model/sandbox-pool.ts";
import { everyPage } from "./every-page.ts";
import type { HttpCaller } from "./http-caller.ts";
import type { Event as PoolEvent } from "./generated/api-types.generated.ts";
import type { AnswerOf, ItemOf } from "./answers.ts";

export type { PoolEvent };
export type PoolSize = ItemOf<AnswerOf<"listPoolSizes">["sizes"]>;

/** Without a namespace: the only pool of that name visible to the caller. */
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

  /** All pools visible to the caller, sorted by name. */
  async list(signal?: AbortSignal): Promise<readonly SandboxPool[]> {
    return await everyPage(this.#http, { path: "/v1/pools", items: "pools", signal });
  }

  /** Newest first. */
  async events({ name, namespace }: PoolName, signal?: AbortSignal): Promise<readonly PoolEvent[]> {
    const path = `/v1/pools/${encodeURIComponent(name)}/events`;
    return (await this.#http.json<{ events: readonly PoolEvent[] }>({ method: "GET", path, query: { namespace }, signal })).events;
  }

  /** Samples of the last hour, oldest first. */
  async sizes({ name, namespace }: PoolName, signal?: AbortSignal): Promise<readonly PoolSize[]> {
    const path = `/v1/pools/${encodeURIComponent(name)}/sizes`;
    return (await this.#http.json<{ sizes: readonly PoolSize[] }>({ method: "GET", path, query: { namespace }, signal })).sizes;
  }

  async scale({ name, namespace }: PoolName, replicas: number, signal?: AbortSignal): Promise<SandboxPool> {
    const path = `/v1/pools/${encodeURIComponent(name)}/scale`;
    return await this.#http.json({ method: "PUT", path, query: { namespace }, body: { replicas }, signal });
  }
}
