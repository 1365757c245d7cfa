/** The audit log: read it page by page, or all of it as CSV. */
import { csvLine } from "#lib/csv.ts";
import type { AuditReader, SeenEntry } from "#services/audit/read-audit.ts";
import { csvStream } from "./csv-stream.ts";
import { type Route, route } from "./route.ts";
import { text } from "#model/schema-builders.ts";
import { auditExportQuery, auditPageSchema, auditQuery } from "./schemas/audit.ts";

export interface AuditRoutesDeps {
  readonly audit: AuditReader;
}

const about =
  "Every answered request of a known caller that may have changed something has an entry. A tenant sees what was done as its team or user; an admin sees all.";

export function auditRoutes({ audit }: AuditRoutesDeps): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/audit",
      name: "listAudit",
      summary: "Read the audit log, newest first",
      description: about,
      query: auditQuery,
      answers: [{ status: 200, description: "One page.", schema: auditPageSchema }],
      errors: ["timeout"],
      handle: ({ caller, query }) => audit.page(caller(), query),
    }),
    route({
      method: "GET",
      path: "/audit/csv",
      name: "exportAudit",
      summary: "Export the audit log as CSV, newest first",
      description: about,
      query: auditExportQuery,
      answers: [{ status: 200, description: "A line for each entry.", schema: text("A line of the table."), contentType: "text/csv" }],
      errors: ["timeout"],
      handle: ({ caller, query, reply }) => csvStream(reply, "audit", linesOf(audit.pages(caller(), query))),
    }),
  ];
}

const columns = [
  "at",
  "keyId",
  "role",
  "team",
  "user",
  "action",
  "target",
  "address",
  "agent",
  "status",
  "code",
  "ms",
  "requestId",
] as const;

async function* linesOf(pages: AsyncGenerator<readonly SeenEntry[]>): AsyncGenerator<string, void> {
  let head = csvLine(columns);
  for await (const entries of pages) {
    yield head + entries.map((entry) => csvLine(columns.map((column) => entry[column]))).join("");
    head = "";
  }
}
