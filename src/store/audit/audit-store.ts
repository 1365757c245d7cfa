/**
 * The port to the audit log: one entry for each answered request to an API that may have changed something. It stands in the database of the history, in a
 * table of its own.
 *
 * - `audit-store.ts`    the port                          - `checked-audit.ts`  what may be stored and asked, in one form
 * - `audit-key.ts`      the order of the log, and cursors - `audit-conditions.ts`  the filter in SQL
 * - `sqlite-audit.ts`, `postgres-audit.ts`  the two databases
 *
 * Rules that both keep, and test/history checks on both:
 * - A1: adding an entry again changes nothing.
 * - A2: what is outside the scope is as if it did not exist (I8).
 * - A3: a search examines a bounded number of rows, or is ended by the database.
 * - A4: `trim` removes only the oldest entries of one team: a team that writes much never pushes out another team's entries.
 */
import type { HistoryScope } from "../history-store.ts";
import type { AuditKey } from "./audit-key.ts";

export const auditResults = ["ok", "refused", "failed"] as const;
/** `refused`: the request was wrong or not allowed (4xx). `failed`: the server could not do it (5xx). */
export type AuditResult = (typeof auditResults)[number];

export interface AuditEntry extends AuditKey {
  /** The key that was used; of an admin that acted as a team, the admin's. */
  readonly keyId: string;
  /** Of the key. */
  readonly role: "admin" | "tenant";
  /** The caller; both are empty for an admin that acted as itself. */
  readonly team: string;
  readonly user: string;
  /** Method and route, such as `DELETE /v1/sandboxes/:sandboxId`. */
  readonly action: string;
  /** The object that it was about, such as a sandbox id; empty if there is none. */
  readonly target: string;
  /** Names and ids of the object, from the path and the answer. */
  readonly subject: Readonly<Record<string, string>>;
  /** Network address of the other end of the connection: of the client, or of the proxy in front. */
  readonly address: string;
  /** The User-Agent header of the client. */
  readonly agent: string;
  readonly status: number;
  /** The error code of the answer. */
  readonly code?: string;
  /** Time until the answer began. */
  readonly ms: number;
  readonly requestId: string;
}

/** An entry must match every given field. Times are ISO 8601; `after` includes the moment itself, `before` does not. */
export interface AuditFilter {
  readonly scope: HistoryScope;
  readonly after?: string;
  readonly before?: string;
  readonly team?: string;
  readonly user?: string;
  readonly keyId?: string;
  readonly action?: string;
  readonly target?: string;
  readonly result?: AuditResult;
}

export interface AuditQuery extends AuditFilter {
  /** 1 to 1000. */
  readonly limit: number;
  /** Continues after this place: the `next` of the page before. */
  readonly behind?: AuditKey;
}

/** Newest first. A page may be short, even empty, and still have a `next`. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly next?: AuditKey;
}

export interface AuditStore {
  /** All of them or none. When it resolves, they outlive this process. */
  add(entries: readonly AuditEntry[]): Promise<void>;

  search(query: AuditQuery): Promise<AuditPage>;

  /** Removes entries from before this moment, at most `limit` at once. Resolves with how many went. */
  prune(request: { readonly olderThan: string; readonly limit: number }): Promise<number>;

  /** Removes the oldest entries of the team until `keep` are left, at most 1000 at once. Resolves with how many went. */
  trim(team: string, keep: number): Promise<number>;
}
