/** Usage of sandboxes, over the route that E2B's clients use as well. */
import type { HttpCaller } from "./http-caller.ts";

export interface SandboxUse {
  readonly timestamp: string;
  readonly cpuCount: number;
  readonly cpuUsedPct: number;
  readonly memUsed: number;
  readonly memTotal: number;
  readonly diskUsed: number;
  readonly diskTotal: number;
}

/** Limits the length of the URL. */
const atOnce = 100;

/** All throw ClientError. */
export class MetricsClient {
  readonly #http: HttpCaller;

  constructor(http: HttpCaller) {
    this.#http = http;
  }

  /** By id; sandboxes not measured yet are missing. */
  async latest(ids: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, SandboxUse>> {
    const found = new Map<string, SandboxUse>();
    for (let at = 0; at < ids.length; at += atOnce) {
      const query = { sandbox_ids: ids.slice(at, at + atOnce).join(",") };
      const { sandboxes } = await this.#http.json<{ sandboxes: Record<string, SandboxUse> }>({
        method: "GET",
        path: "/sandboxes/metrics",
        query,
        signal,
      });
      for (const [id, use] of Object.entries(sandboxes)) found.set(id, use);
    }
    return found;
  }
}
