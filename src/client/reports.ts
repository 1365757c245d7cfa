/** Reports over longer times: the audit log, and usage by team and user. */
import type { HttpCaller } from "./http-caller.ts";
import type { AuditEntry } from "./generated/api-types.generated.ts";
import type { AnswerOf, ItemOf, QueryOf } from "./answers.ts";

export type { AuditEntry };
export type AuditQuery = QueryOf<"listAudit">;
export type AuditPage = AnswerOf<"listAudit">;
export type UsageQuery = QueryOf<"reportUsage">;
export type UsageRow = ItemOf<UsageReport["rows"]>;
export type UsageReport = AnswerOf<"reportUsage">;

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
