import { everyPage } from "./every-page.ts";
import type { HttpCaller } from "./http-caller.ts";
import type { CreatedSandbox } from "./sandbox-types.ts";

export interface Checkpoint {
  readonly id: string;
  readonly alias?: string;
  readonly purpose: string;
  readonly sandboxId: string;
  readonly phase: string;
  readonly image?: string;
  readonly baseImage?: string;
  readonly parent?: string;
  readonly poolName?: string;
  readonly envName?: string;
  readonly team: string;
  readonly user: string;
  readonly sizeBytes?: number;
  readonly message?: string;
  readonly createdAt: string;
  readonly completedAt?: string;
}

export interface CheckpointWish {
  readonly alias?: string;
  readonly keepRunning?: boolean;
  readonly ttl?: string;
}

export interface ForkWish {
  readonly count?: number;
  readonly lifetime?: string;
}

export interface Forked {
  readonly sandboxes: readonly CreatedSandbox[];
  readonly failures: readonly { readonly code: string; readonly message: string }[];
}

/** All throw ClientError. */
export class CheckpointsClient {
  readonly #http: HttpCaller;

  constructor(http: HttpCaller) {
    this.#http = http;
  }

  async take(sandboxId: string, wish: CheckpointWish, signal?: AbortSignal): Promise<Checkpoint> {
    const path = `/v1/sandboxes/${encodeURIComponent(sandboxId)}/checkpoints`;
    return (await this.#http.json<OneCheckpoint>({ method: "POST", path, body: wish, signal })).checkpoint;
  }

  async fork(sandboxId: string, wish: ForkWish, signal?: AbortSignal): Promise<Forked> {
    return await this.#http.json({ method: "POST", path: `/v1/sandboxes/${encodeURIComponent(sandboxId)}/fork`, body: wish, signal });
  }

  async list(query: { readonly sandboxId?: string } = {}, signal?: AbortSignal): Promise<readonly Checkpoint[]> {
    return await everyPage<Checkpoint>(this.#http, { path: "/v1/checkpoints", items: "checkpoints", query, signal });
  }

  async get(name: string, signal?: AbortSignal): Promise<Checkpoint> {
    return (await this.#http.json<OneCheckpoint>({ method: "GET", path: pathOf(name), signal })).checkpoint;
  }

  async delete(name: string, signal?: AbortSignal): Promise<void> {
    await this.#http.json({ method: "DELETE", path: pathOf(name), signal });
  }
}

interface OneCheckpoint {
  readonly checkpoint: Checkpoint;
}

function pathOf(name: string): string {
  return `/v1/checkpoints/${encodeURIComponent(name)}`;
}
