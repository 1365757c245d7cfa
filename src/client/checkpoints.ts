import { everyPage } from "./every-page.ts";
import type { HttpCaller } from "./http-caller.ts";
import type { Checkpoint, TakeCheckpoint as CheckpointWish, ForkSandbox as ForkWish } from "./generated/api-types.generated.ts";
import type { AnswerOf } from "./answers.ts";

export type { Checkpoint, CheckpointWish, ForkWish };
export type Forked = AnswerOf<"forkSandbox">;

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
