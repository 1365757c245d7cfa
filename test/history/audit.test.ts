import fc from "fast-check";
import { expect, test } from "vitest";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { type AuditEntry, type AuditFilter, auditResults, type AuditStore } from "#store/audit/audit-store.ts";
import type { AuditKey } from "#store/audit/audit-key.ts";
import { describeDatabases } from "./databases.ts";
import { at } from "./records.ts";

const admin = { kind: "admin" } as const;
const red = { kind: "tenant", team: "red" } as const;

function anEntry(id: string, more: Partial<AuditEntry> = {}): AuditEntry {
  return {
    id,
    at: at(0),
    keyId: "k1",
    role: "tenant",
    team: "red",
    user: "ann",
    action: "DELETE /v1/sandboxes/:sandboxId",
    target: "s1",
    subject: { sandboxId: "s1" },
    address: "192.0.2.1",
    agent: "curl",
    status: 202,
    ms: 3,
    requestId: "r1",
    ...more,
  };
}

async function everyPage(audit: AuditStore, filter: AuditFilter, limit: number): Promise<AuditEntry[]> {
  const all: AuditEntry[] = [];
  let behind: AuditKey | undefined;
  do {
    const page = await audit.search({ ...filter, limit, ...(behind === undefined ? {} : { behind }) });
    expect(page.entries.length).toBeLessThanOrEqual(limit);
    all.push(...page.entries);
    behind = page.next;
  } while (behind !== undefined);
  return all;
}

const words = fc.constantFrom("x", "y");
const anyEntry = fc
  .record({
    id: fc.integer({ min: 0, max: 30 }).map((n) => `e${String(n)}`),
    at: fc.integer({ min: 0, max: 4 }).map((second) => at(second)),
    keyId: words,
    owner: fc.constantFrom(["red", "ann"], ["red", ""], ["blue", "ann"], ["", ""]),
    action: words,
    target: words,
    status: fc.constantFrom(200, 204, 404, 429, 503),
  })
  .map(({ owner: [team = "", user = ""], ...rest }) => anEntry(rest.id, { ...rest, team, user }));
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const moments = maybe(fc.integer({ min: 0, max: 5 }).map((second) => at(second)));
const anyFilter: fc.Arbitrary<AuditFilter> = fc
  .record({
    scope: fc.constantFrom(admin, red, { kind: "tenant" as const, team: "red", user: "ann" }),
    after: moments,
    before: moments,
    team: maybe(fc.constantFrom("red", "blue")),
    user: maybe(fc.constantFrom("ann")),
    keyId: maybe(words),
    action: maybe(words),
    target: maybe(words),
    result: maybe(fc.constantFrom(...auditResults)),
  })
  .map(({ scope, ...rest }) => ({ scope, ...withoutUndefined(rest) }));

function resultOf({ status }: AuditEntry): string {
  if (status < 400) return "ok";
  return status < 500 ? "refused" : "failed";
}

function isSeen({ team, user }: AuditEntry, { scope }: AuditFilter): boolean {
  return scope.kind === "admin" || (scope.team === team && (scope.user ?? user) === user);
}

function matches(entry: AuditEntry, filter: AuditFilter): boolean {
  const { scope: _, after = "", before = "~", result = resultOf(entry), ...names } = filter;
  return (
    isSeen(entry, filter) &&
    entry.at >= after &&
    entry.at < before &&
    resultOf(entry) === result &&
    Object.entries(names).every(([name, value]) => entry[name as keyof AuditEntry] === value)
  );
}

describeDatabases("the audit log", (databases) => {
  test("every filter finds exactly the entries that it describes, newest first, on pages of any size", async () => {
    await using history = await databases.open();
    const { audit } = history;
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(anyEntry, { selector: ({ id }) => id, maxLength: 12 }),
        fc.array(anyFilter, { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 4 }),
        async (entries, filters, limit) => {
          await audit.prune({ olderThan: "2100-01-01", limit: 1000 });
          await audit.add(entries);
          for (const filter of filters) {
            const expected = entries.filter((entry) => matches(entry, filter)).sort((a, b) => (a.at + a.id > b.at + b.id ? -1 : 1));
            expect(await everyPage(audit, filter, limit)).toEqual(expected);
          }
        },
      ),
      { numRuns: databases.name === "sqlite" ? 200 : 40 },
    );
  }, 60_000);

  test("A1: adding again changes nothing", async () => {
    await using history = await databases.open();
    await history.audit.add([anEntry("a")]);
    await history.audit.add([anEntry("a", { target: "other" }), anEntry("b")]);
    expect((await everyPage(history.audit, { scope: admin }, 9)).map(({ id, target }) => [id, target])).toEqual([
      ["b", "s1"],
      ["a", "s1"],
    ]);
  });

  test("A4: trimming removes the oldest entries of one team only", async () => {
    await using history = await databases.open();
    const { audit } = history;
    await audit.add([
      ...Array.from({ length: 6 }, (_, index) => anEntry(`r${index}`, { at: at(index) })),
      anEntry("b", { team: "blue", at: at(0) }),
    ]);
    expect(await audit.trim("red", 4)).toBe(2);
    expect(await audit.trim("red", 4)).toBe(0);
    expect((await everyPage(audit, { scope: admin }, 9)).map(({ id }) => id)).toEqual(["r5", "r4", "r3", "r2", "b"]);
  });

  test("entries from before a moment are pruned, a bounded number at once", async () => {
    await using history = await databases.open();
    const { audit } = history;
    await audit.add(Array.from({ length: 5 }, (_, index) => anEntry(`r${index}`, { at: at(index) })));
    expect(await audit.prune({ olderThan: at(3), limit: 2 })).toBe(2);
    expect(await audit.prune({ olderThan: at(3), limit: 2 })).toBe(1);
    expect((await everyPage(audit, { scope: admin }, 9)).map(({ id }) => id)).toEqual(["r4", "r3"]);
  });

  test("texts that a client chose are cut, and what a database cannot hold is replaced", async () => {
    await using history = await databases.open();
    await history.audit.add([anEntry("a", { agent: "x".repeat(9999), target: "a\0b", subject: { id: "\uD800" } })]);
    const [entry] = await everyPage(history.audit, { scope: red }, 9);
    expect([entry?.agent.length, entry?.target, entry?.subject]).toEqual([253, "a\uFFFDb", { id: "\uFFFD" }]);
  });
});
