/** Entries as both databases can hold them, and queries as both take them. Clients choose some of these texts, so each is cut to a length. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { checkedScope, checkedTime, checkLimit } from "../checked-query.ts";
import { storable } from "../checked-record.ts";
import { HistoryError } from "../history-error.ts";
import { isAuditId } from "./audit-key.ts";
import type { AuditEntry, AuditQuery } from "./audit-store.ts";

const maxText = 253;
/** Routes have few parameters. */
const maxSubject = 8;

/** Throws HistoryError `invalid`. */
export function checkedEntry(entry: AuditEntry): AuditEntry {
  if (!isAuditId(entry.id)) throw new HistoryError("invalid", "the id of an audit entry must be 1 to 64 visible ASCII characters");
  const subject = Object.entries(entry.subject).slice(0, maxSubject);
  return {
    id: entry.id,
    at: checkedTime("at", entry.at),
    keyId: short(entry.keyId),
    role: entry.role,
    team: short(entry.team),
    user: short(entry.user),
    action: short(entry.action),
    target: short(entry.target),
    subject: Object.fromEntries(subject.map(([name, value]) => [short(name), short(value)])),
    address: short(entry.address),
    agent: short(entry.agent),
    status: entry.status,
    ...(entry.code !== undefined && { code: short(entry.code) }),
    ms: Math.max(0, Math.round(entry.ms)),
    requestId: short(entry.requestId),
  };
}

/** Throws HistoryError `invalid`. */
export function checkedAuditQuery(query: AuditQuery): AuditQuery {
  checkLimit(query.limit);
  const { after, before, behind } = query;
  if (behind !== undefined && !isAuditId(behind.id))
    throw new HistoryError("invalid", "behind.id must be 1 to 64 visible ASCII characters");
  return {
    scope: checkedScope(query.scope),
    limit: query.limit,
    ...withoutUndefined({
      after: after === undefined ? undefined : checkedTime("after", after),
      before: before === undefined ? undefined : checkedTime("before", before),
      behind: behind === undefined ? undefined : { at: checkedTime("behind.at", behind.at), id: behind.id },
      team: text(query.team),
      user: text(query.user),
      keyId: text(query.keyId),
      action: text(query.action),
      target: text(query.target),
      result: query.result,
    }),
  };
}

function short(value: string): string {
  return storable(value.slice(0, maxText));
}

/** As it would have been stored. */
function text(value: string | undefined): string | undefined {
  return value === undefined ? undefined : short(value);
}
