import { describe, expect, test } from "vitest";
import type { AuditEntry, AuditQuery } from "./audit-store.ts";
import { checkedAuditQuery, checkedEntry } from "./checked-audit.ts";

const entry: AuditEntry = {
  id: "req-1",
  at: "2026-01-01T00:00:00Z",
  keyId: "k1",
  role: "tenant",
  team: "red",
  user: "ann",
  action: "DELETE /v1/sandboxes/:sandboxId",
  target: "i1",
  subject: { sandboxId: "i1" },
  address: "192.0.2.1",
  agent: "curl",
  status: 202,
  ms: 3.6,
  requestId: "req-1",
};
const query: AuditQuery = { scope: { kind: "admin" }, limit: 100 };

describe("an entry of the audit log", () => {
  test("is stored with its time in one form, and whole milliseconds", () => {
    expect(checkedEntry(entry)).toEqual({ ...entry, at: "2026-01-01T00:00:00.000Z", ms: 4 });
    expect(checkedEntry({ ...entry, ms: -2 }).ms).toBe(0);
  });

  test("keeps a bounded part of the texts that a client chooses", () => {
    const long = "x".repeat(10_000);
    const many = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`name${index}`, long]));
    const stored = checkedEntry({ ...entry, agent: long, target: long, code: long, subject: many });
    expect([stored.agent, stored.target, stored.code].map((text) => text?.length)).toEqual([253, 253, 253]);
    expect(Object.values(stored.subject).map(({ length }) => length)).toEqual(Array.from({ length: 8 }, () => 253));
  });

  test("has no text that a database refuses", () => {
    expect(checkedEntry({ ...entry, agent: "a\0b\uD800" }).agent).toBe("a\uFFFDb\uFFFD");
  });

  test.each([
    ["without an id", { id: "" }],
    ["with spaces in its id", { id: "a b" }],
    ["without a time", { at: "yesterday" }],
  ])("%s is refused", (_, wrong) => {
    expect(() => checkedEntry({ ...entry, ...wrong })).toThrow(expect.objectContaining({ name: "HistoryError" }));
  });
});

describe("a search of the audit log", () => {
  test("looks for texts as they were stored", () => {
    expect(checkedAuditQuery({ ...query, target: "x".repeat(300), agent: "ignored" } as AuditQuery)).toEqual({
      ...query,
      target: "x".repeat(253),
    });
  });

  test.each([
    ["more rows than a page may have", { limit: 1001 }],
    ["no rows", { limit: 0 }],
    ["a time that is none", { after: "soon" }],
    ["a place that no list gave out", { behind: { at: "2026-01-01T00:00:00Z", id: "\n" } }],
    ["a tenant without a team", { scope: { kind: "tenant", team: "" } as const }],
  ])("with %s is refused", (_, wrong) => {
    expect(() => checkedAuditQuery({ ...query, ...wrong })).toThrow(expect.objectContaining({ name: "HistoryError" }));
  });
});
