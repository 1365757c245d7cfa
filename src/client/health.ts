import type { HttpCaller } from "./http-caller.ts";

export interface Readiness {
  readonly isReady: boolean;
  /** Why not. */
  readonly text: string;
  readonly tookMs: number;
}

export class HealthClient {
  readonly #http: HttpCaller;

  constructor(http: HttpCaller) {
    this.#http = http;
  }

  /** Throws ClientError if there is no answer. */
  async ready(signal?: AbortSignal): Promise<Readiness> {
    const began = performance.now();
    const answer = await this.#http.send({ method: "GET", path: "/readyz", signal });
    return { isReady: answer.ok, text: await answer.text(), tookMs: performance.now() - began };
  }
}
