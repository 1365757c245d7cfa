/** Numbers over time. */
import type { HttpCaller } from "./http-caller.ts";
import type { AnswerOf } from "./answers.ts";

export type Usage = AnswerOf<"getUsage">;
export type CreateReport = AnswerOf<"reportCreates">;
export type SandboxStatistics = AnswerOf<"countSandboxes">;

/** All throw ClientError. */
export class NumbersClient {
  readonly #http: HttpCaller;

  constructor(http: HttpCaller) {
    this.#http = http;
  }

  async usage(sandboxId: string, signal?: AbortSignal): Promise<Usage> {
    return await this.#http.json({ method: "GET", path: `/v1/sandboxes/${encodeURIComponent(sandboxId)}/usage`, signal });
  }

  async creates(seconds?: number, signal?: AbortSignal): Promise<CreateReport> {
    return await this.#http.json({ method: "GET", path: "/v1/statistics/creates", query: { seconds }, signal });
  }

  async sandboxes(since?: string, signal?: AbortSignal): Promise<SandboxStatistics> {
    return await this.#http.json({ method: "GET", path: "/v1/statistics/sandboxes", query: { since }, signal });
  }
}
