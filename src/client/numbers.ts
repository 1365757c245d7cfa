/** Numbers over time. */
import type { HttpCaller } from "./http-caller.ts";

export interface UsageSample {
  readonly at: string;
  readonly cpuPercent: number;
  readonly memoryBytes: number;
  readonly cacheBytes: number;
  readonly diskBytes: number;
}

export interface Usage {
  readonly limits: { readonly cpus: number; readonly memoryBytes: number; readonly diskBytes: number };
  readonly samples: readonly UsageSample[];
}

export interface CreateReport {
  readonly seconds: number;
  readonly created: number;
  readonly failed: number;
  readonly missed?: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  readonly failures: readonly { readonly code: string; readonly count: number }[];
  readonly parts: readonly { readonly start: string; readonly created: number; readonly failed: number }[];
}

export interface Counted {
  readonly key: string;
  readonly count: number;
}

export interface SandboxStatistics {
  readonly live: { readonly total: number; readonly byStatus: readonly Counted[]; readonly byPool: readonly Counted[] };
  readonly since: string;
  readonly ended: {
    readonly total: number;
    readonly byStatus: readonly Counted[];
    readonly byPool: readonly Counted[];
    readonly byDay: readonly Counted[];
  };
}

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
