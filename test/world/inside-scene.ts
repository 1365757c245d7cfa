/** Work inside sandboxes, over a store and daemons that answer what a test wants. */
import type { DaemonAddress } from "#daemon-client/daemon-client.ts";
import type { PodStream, PodStreamRequest } from "#daemon-client/pod-stream.ts";
import { openSandboxInside, type SandboxInside } from "#services/inside/sandbox-inside.ts";
import { ServiceScene } from "./service-scene.ts";

interface Asked extends PodStreamRequest {
  readonly at: DaemonAddress;
}
export type Answer = Partial<Omit<PodStream, "body">> & { readonly body?: AsyncIterable<Buffer> | string };

export class InsideScene {
  readonly services: ServiceScene;
  readonly inside: SandboxInside;
  /** The requests that daemons were sent. */
  readonly asked: Asked[] = [];
  /** The sandbox that daemons say they work for. */
  armedFor: string | undefined;
  answer: (request: PodStreamRequest, signal: AbortSignal) => Answer | Promise<Answer> = () => ({});

  private constructor(services: ServiceScene) {
    this.services = services;
    const { client, cache, history, activity, clock } = services;
    this.inside = openSandboxInside({
      client,
      cache,
      history,
      activity,
      clock,
      tokens: { accessTokenOf: (id) => `token-of-${id}` },
      daemons: { health: () => this.#health() },
      openStream: async (at, request, until) => {
        this.asked.push({ at, ...request });
        const { body = "", ...head } = await this.answer(request, until);
        return { status: 200, headers: {}, ...head, body: typeof body === "string" ? pieces(body) : body };
      },
    });
  }

  static async open(): Promise<InsideScene> {
    return new InsideScene(await ServiceScene.open());
  }

  async #health() {
    const podUid = (await this.services.stored("i-1")).metadata.uid ?? "";
    return { podUid, bootId: "b", ...(this.armedFor !== undefined && { sandboxId: this.armedFor }) };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.services[Symbol.asyncDispose]();
  }
}

export async function* pieces(...all: readonly (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const piece of all) yield Buffer.from(piece);
}
