/** Reading the audit log: an admin sees all of it, a tenant what was done as its team or user. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { type AuditKey, decodeAuditCursor, encodeAuditCursor } from "#store/audit/audit-key.ts";
import { type AuditEntry, type AuditFilter, type AuditPage, auditResults, type AuditStore } from "#store/audit/audit-store.ts";
import { type Caller, scopeOf } from "#services/caller.ts";
import { ServiceError } from "#services/service-error.ts";
import { translated } from "#services/service-failure.ts";

export { auditResults };

export interface AuditReader {
  page(caller: Caller, wanted: AuditWish): Promise<SeenPage>;
  /** All entries that match, newest first, page by page. */
  pages(caller: Caller, wanted: Omit<AuditWish, "limit" | "cursor">): AsyncGenerator<readonly SeenEntry[]>;
}

export interface AuditWish extends Omit<AuditFilter, "scope"> {
  readonly limit?: number;
  readonly cursor?: string;
}

/** Leaves out the parts of an entry that a tenant may not see. */
export type SeenEntry = Omit<AuditEntry, "keyId" | "address" | "agent"> & Partial<Pick<AuditEntry, "keyId" | "address" | "agent">>;

export interface SeenPage {
  readonly entries: readonly SeenEntry[];
  readonly next?: string;
}

const usualLimit = 100;
const largestPage = 1000;

export function auditReader(store: Pick<AuditStore, "search">): AuditReader {
  const search = async (caller: Caller, filter: Omit<AuditFilter, "scope">, limit: number, behind?: AuditKey): Promise<AuditPage> => {
    // A caller without a team owns no entries.
    if (caller.role === "tenant" && caller.team === "") return { entries: [] };
    return translated(store.search({ ...filter, scope: scopeOf(caller), limit, ...(behind !== undefined && { behind }) }));
  };
  return {
    page: async (caller, { limit = usualLimit, cursor, ...filter }) => {
      const behind = cursor === undefined ? undefined : placeIn(cursor);
      const { entries, next } = await search(caller, filter, limit, behind);
      return { entries: entries.map((entry) => seenBy(caller, entry)), ...withoutUndefined({ next: next && encodeAuditCursor(next) }) };
    },
    pages: async function* (caller, filter) {
      let behind: AuditKey | undefined;
      do {
        const { entries, next } = await search(caller, filter, largestPage, behind);
        yield entries.map((entry) => seenBy(caller, entry));
        behind = next;
      } while (behind !== undefined);
    },
  };
}

/** The team sees that an admin acted for it, but not the key, the address and the program. */
function seenBy(caller: Caller, entry: AuditEntry): SeenEntry {
  if (caller.role === "admin" || entry.role === "tenant") return entry;
  const { keyId: _, address: __, agent: ___, ...rest } = entry;
  return rest;
}

function placeIn(cursor: string): AuditKey {
  try {
    return decodeAuditCursor(cursor);
  } catch {
    throw new ServiceError("invalid_request", "the cursor is not one that a list gave out: pass it on unchanged, or leave it out", {
      field: "cursor",
    });
  }
}
