import { expect, test } from "vitest";
import type { SandboxEvent } from "#model/sandbox-event.ts";
import { describeDatabases } from "./databases.ts";

const event = (id: string, more: Partial<SandboxEvent> = {}): SandboxEvent => ({
  id,
  sandboxId: "a",
  type: "created",
  at: "2026-01-01T00:00:00.000Z",
  team: "red",
  user: "ann",
  template: "base",
  data: { n: 1.5 },
  ...more,
});
const admin = { kind: "admin" } as const;
const all = { scope: admin, offset: 0, limit: 100, order: "oldest" } as const;

describeDatabases("events", (databases) => {
  test("an event is stored once, in the order of telling, and outlives the process", async () => {
    const location = await databases.location();
    {
      await using history = await databases.open(location);
      for (const id of ["e1", "e2", "e1"]) await history.events.append(event(id), ["w"]);
      await Promise.all(["e3", "e3", "e3"].map((id) => history.events.append(event(id), ["w"])));
    }
    await using history = await databases.open(location);
    expect((await history.events.list(all)).map(({ id }) => id)).toEqual(["e1", "e2", "e3"]);
    expect(await history.events.newestOf("a", 1)).toEqual([event("e3")]);
    expect(await history.events.undelivered("w", 10)).toHaveLength(3);
  });

  test("lists are of the scope, of types, and in pages", async () => {
    await using history = await databases.open();
    await history.events.append(event("e1"), []);
    await history.events.append(event("e2", { user: "bob", type: "killed" }), []);
    await history.events.append(event("e3", { team: "blue", sandboxId: "b" }), []);
    const ids = async (more: object) => (await history.events.list({ ...all, ...more })).map(({ id }) => id);
    expect(await ids({ scope: { kind: "tenant", team: "red" } })).toEqual(["e1", "e2"]);
    expect(await ids({ scope: { kind: "tenant", team: "red", user: "bob" } })).toEqual(["e2"]);
    expect(await ids({ sandboxId: "b" })).toEqual(["e3"]);
    expect(await ids({ types: ["killed"] })).toEqual(["e2"]);
    expect(await ids({ order: "newest", offset: 1, limit: 1 })).toEqual(["e2"]);
    expect(await history.events.unended("", 10)).toEqual(["b"]);
    expect(await history.events.unended("b", 10)).toEqual([]);
  });

  test("of one webhook and sandbox only the oldest delivery is due, until it succeeded or was given up", async () => {
    await using history = await databases.open();
    const { events } = history;
    await events.append(event("e1"), ["w", "v"]);
    await events.append(event("e2"), ["w"]);
    await events.append(event("e3", { sandboxId: "b" }), ["w"]);
    const due = async (nowMs: number) => (await events.due(nowMs, 10)).map((one) => `${one.webhook} ${one.event.id}`).toSorted();
    expect(await due(0)).toEqual(["v e1", "w e1", "w e3"]);
    expect((await events.due(0, 10, ["w", "x"])).map((one) => one.webhook)).toEqual(["v"]);
    const first = (await events.due(0, 10)).find(({ webhook, event: { id } }) => webhook === "w" && id === "e1");
    await events.failed(first?.id ?? 0, { attempts: 1, dueMs: 5000, error: "no", isDead: false });
    expect(await due(4999)).toEqual(["v e1", "w e3"]);
    expect(await due(5000)).toEqual(["v e1", "w e1", "w e3"]);
    await events.failed(first?.id ?? 0, { attempts: 2, dueMs: 6000, error: "no", isDead: true });
    expect(await due(6000)).toEqual(["v e1", "w e2", "w e3"]);
    expect(await events.undelivered("w", 1)).toMatchObject([{ state: "dead", attempts: 2, lastError: "no" }]);
    await events.dropWebhook("w");
    expect(await due(9999)).toEqual(["v e1"]);
    expect(await events.nextDueMs()).toBe(0);
    for (const { id } of await events.due(0, 10)) await events.delivered(id);
    expect(await events.nextDueMs()).toBeUndefined();
  });

  test("what is old goes, unless it is still to be delivered", async () => {
    await using history = await databases.open();
    await history.events.append(event("e1"), ["w"]);
    await history.events.append(event("e2"), []);
    expect(await history.events.prune(Date.parse("2027-01-01T00:00:00Z"), 10)).toBe(1);
    expect((await history.events.list(all)).map(({ id }) => id)).toEqual(["e1"]);
  });
});
