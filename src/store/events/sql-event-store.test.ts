import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { SandboxEvent } from "#model/sandbox-event.ts";
import { eventTables, SqlEventStore } from "./sql-event-store.ts";

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
  db.exec(eventTables("INTEGER PRIMARY KEY AUTOINCREMENT"));
  const events = new SqlEventStore(async (sql, params) => db.prepare(sql).all(...params), 3);
  for (const id of ["a", "b", "c", "d", "e"]) await events.append(event(id), ["away"]);
  await events.append(event("f"), ["away", "other"]);
  expect((await events.undelivered("away", 10)).map(({ event: { id } }) => id)).toEqual(["a", "b", "c"]);
  expect((await events.undelivered("other", 10)).map(({ event: { id } }) => id)).toEqual(["f"]);
  const [first] = await events.due(0, 1);
  await events.failed(first?.id ?? 0, { attempts: 9, dueMs: 0, error: "no", isDead: true });
  await events.append(event("g"), ["away"]);
  expect((await events.undelivered("away", 10)).map(({ event: { id } }) => id)).toEqual(["a", "b", "c", "g"]);
});
