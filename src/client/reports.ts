/** Reports over longer times: the audit log, and usage by team and user. */
import type { HttpCaller } from "./http-caller.ts";

export interface AuditEntry {
  readonly id: string;
  readonly at: string;
  readonly keyId?: string;
  readonly role: "admin" | "tenant";
  readonly team: string;
  readonly user: string;
  readonly action: string;
  readonly target: string;
  readonly subject: Readonly<Record<string, string>>;
  readonly address?: string;
  readonly agent?: string;
  readonly status: number;
  readonly code?: string;
  readonly ms: number;
  readonly requestId: string;
}

export interface AuditQuery {
  readonly after?: string;
  readonly before?: string;
  readonly team?: string;
  readonly user?: string;
  readonly keyId?: string;
  readonly action?: string;
  readonly target?: string;
  readonly result?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly next?: string;
}

export interface UsageQuery {
  readonly from?: string;
  readonly to?: string;
  readonly step?: string;
  readonly by?: string;
  readonly team?: string;
  readonly user?: string;
}

export interface UsageRow {
  readonly start: string;
  readonly team: string;
  readonly user?: string;
  readonly creates: number;
  readonly sandboxSeconds: number;
  readonly cpuSeconds: number;
  readonly memoryGibSeconds: number;
}

export interface UsageReport {
  readonly from: string;
  readonly to: string;
  readonly step: string;
  readonly by: string;
  readonly rows: readonly UsageRow[];
}

/** All throw ClientError. */
export class ReportsClient {
  readonly #http: HttpCaller;

  constructor(http: HttpCaller) {
    this.#http = http;
  }

  async audit(query: AuditQuery = {}, signal?: AbortSignal): Promise<AuditPage> {
    return await this.#http.json({ method: "GET", path: "/v1/audit", query: { ...query }, signal });
  }

  async auditCsv(query: AuditQuery = {}, signal?: AbortSignal): Promise<Response> {
    return await this.#http.answer({ method: "GET", path: "/v1/audit/csv", query: { ...query }, signal });
  }

  async usage(query: UsageQuery = {}, signal?: AbortSignal): Promise<UsageReport> {
    return await this.#http.json({ method: "GET", path: "/v1/usage", query: { ...query }, signal });
  }

  async usageCsv(query: UsageQuery = {}, signal?: AbortSignal): Promise<Response> {
    return await this.#http.answer({ method: "GET", path: "/v1/usage/csv", query: { ...query }, signal });
  }
}
