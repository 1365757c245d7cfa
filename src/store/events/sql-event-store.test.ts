import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { SandboxEvent } from "#model/sandbox-event.ts";
import { eventTables, listIndexes, turnIndexes } from "./event-tables.ts";
import type { EventQuery } from "./event-store.ts";
import { SqlEventStore } from "./sql-event-store.ts";

const tables = eventTables("INTEGER PRIMARY KEY AUTOINCREMENT") + turnIndexes + listIndexes;

const event = (id: string): SandboxEvent => ({
  id,
  sandboxId: id,
  type: "created",
  at: "2026-01-01T00:00:00.000Z",
  team: "red",
  user: "",
  template: "base",
  data: null,
});

test("what waits for one webhook is bounded, and takes no place of another's", async () => {
  using db = new DatabaseSync(":memory:");
  db.exec(tables);
  const events = new SqlEventStore(async (sql, params) => db.prepare(sql).all(...params), 3);
  for (const id of ["a", "b", "c", "d", "e"]) await events.append(event(id), ["away"]);
  await events.append(event("f"), ["away", "other"]);
  expect((await events.undelivered("away", 10)).map(({ event: { id } }) => id)).toEqual(["a", "b", "c"]);
  expect((await events.undelivered("other", 10)).map(({ event: { id } }) => id)).toEqual(["f"]);
  const [first] = await events.due("away", 0, 1);
  await events.failed(first?.id ?? 0, { attempts: 9, dueMs: 0, error: "no", isDead: true });
  await events.append(event("g"), ["away"]);
  expect((await events.undelivered("away", 10)).map(({ event: { id } }) => id)).toEqual(["a", "b", "c", "g"]);
});

test("what an event and a look cost does not grow with what waits", async () => {
  using db = new DatabaseSync(":memory:");
  db.exec(tables);
  const plans: string[] = [];
  let counts = 0;
  const events = new SqlEventStore(async (sql, params) => {
    if (sql.includes("count(*) AS n")) counts += 1;
    plans.push(
      ...db
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all(...params)
        .map(({ detail }) => String(detail)),
    );
    return db.prepare(sql).all(...params);
  }, 100);
  for (let n = 0; n < 150; n++) await events.append({ ...event(`e${n}`), sandboxId: "one" }, ["away"]);
  // Once at the beginning, once when it may be full, and not again while it is.
  expect(counts).toBe(2);
  const [first] = await events.due("away", 0, 10);
  await events.nextDueMs("away", 0);
  await events.failed(first?.id ?? 0, { attempts: 1, dueMs: 5000, error: "no", isDead: false });
  expect(db.prepare("SELECT count(*) AS n FROM agentbox_delivery WHERE due_ms <= 1000").get()?.["n"]).toBe(0);
  await events.delivered(first?.id ?? 0);
  // Nothing is read from its beginning to its end, and nothing is sorted.
  expect(plans.filter((detail) => /^SCAN (?!\(|waiting|CONSTANT)|TEMP B-TREE/.test(detail))).toEqual([]);
});

test("what a process left behind when it died between two writes is due again after a look", async () => {
  using db = new DatabaseSync(":memory:");
  db.exec(tables);
  const events = new SqlEventStore(async (sql, params) => db.prepare(sql).all(...params));
  for (const id of ["a", "b", "c"]) await events.append({ ...event(id), sandboxId: "one" }, ["hook"]);
  db.exec("DELETE FROM agentbox_delivery WHERE seq = 1");
  expect(await events.due("hook", 0, 10)).toEqual([]);
  await events.repair("hook");
  expect((await events.due("hook", 0, 10)).map(({ event: { id } }) => id)).toEqual(["b"]);
});

test.each<[string, Partial<EventQuery>]>([
  ["of a team", {}],
  ["of one user", { scope: { kind: "tenant", team: "red", user: "ann" } }],
  ["of types", { types: ["killed", "paused"], order: "oldest" }],
  ["of one sandbox", { sandboxId: "a" }],
])("a list %s reads no event that it does not show", async (_, more) => {
  using db = new DatabaseSync(":memory:");
  db.exec(tables);
  const plans: string[] = [];
  const events = new SqlEventStore(async (sql, params) => {
    plans.push(
      ...db
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all(...params)
        .map(({ detail }) => String(detail)),
    );
    return [];
  });
  await events.list({ scope: { kind: "tenant", team: "red" }, offset: 1000, limit: 10, order: "newest", ...more });
  // The page itself by its places, and all that is skipped from the index alone.
  expect(plans.filter((detail) => /^SCAN|^SEARCH/.test(detail) && !/COVERING INDEX|INTEGER PRIMARY KEY \(rowid=\?\)/.test(detail))).toEqual(
    [],
  );
  expect(plans.some((detail) => detail.includes("COVERING INDEX agentbox_event_by_"))).toBe(true);
});
