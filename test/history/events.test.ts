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
    expect(await history.events.begun("", 10)).toEqual({ unended: ["b"], last: undefined });
    expect(await history.events.begun("", 1)).toEqual({ unended: [], last: "a" });
    expect(await history.events.begun("a", 1)).toEqual({ unended: ["b"], last: "b" });
    expect(await history.events.begun("b", 1)).toEqual({ unended: [], last: undefined });
  });

  test("of one webhook and sandbox only the oldest delivery is due, until it succeeded or was given up", async () => {
    await using history = await databases.open();
    const { events } = history;
    await events.append(event("e1"), ["w", "v"]);
    await events.append(event("e2"), ["w"]);
    await events.append(event("e3", { sandboxId: "b" }), ["w"]);
    const due = async (nowMs: number) =>
      (await Promise.all(["v", "w"].map((webhook) => events.due(webhook, nowMs, 10))))
        .flat()
        .map((one) => `${one.webhook} ${one.event.id}`);
    expect(await due(0)).toEqual(["v e1", "w e1", "w e3"]);
    expect(await events.due("x", 0, 10)).toEqual([]);
    const [first] = await events.due("w", 0, 1);
    await events.failed(first?.id ?? 0, { attempts: 1, dueMs: 5000, error: "no", isDead: false });
    expect(await due(4999)).toEqual(["v e1", "w e3"]);
    expect(await events.nextDueMs("w", 0)).toBe(5000);
    expect(await due(5000)).toEqual(["v e1", "w e3", "w e1"]);
    const shown = await events.undelivered("w", 10);
    expect(shown.map(({ dueAt }) => dueAt)).toEqual(["1970-01-01T00:00:05.000Z", undefined, "1970-01-01T00:00:00.000Z"]);
    await events.failed(first?.id ?? 0, { attempts: 2, dueMs: 6000, error: "no", isDead: true });
    expect(await due(6000)).toEqual(["v e1", "w e2", "w e3"]);
    expect(await events.undelivered("w", 1)).toMatchObject([{ state: "dead", attempts: 2, lastError: "no" }]);
    expect(await events.webhooks()).toEqual(["v", "w"]);
    await events.dropWebhook("w");
    expect(await due(9999)).toEqual(["v e1"]);
    for (const { id } of await events.due("v", 0, 10)) await events.delivered(id);
    expect(await due(9999)).toEqual([]);
    expect(await events.nextDueMs("v", -1)).toBeUndefined();
    expect(await events.webhooks()).toEqual([]);
  });

  test("each delivery becomes due when the one before it ended, also one that comes while it ends", async () => {
    await using history = await databases.open();
    const { events } = history;
    const taken: string[] = [];
    await events.append(event("e0"), ["w"]);
    for (let n = 1; n <= 10; n++) {
      const [next] = await events.due("w", 0, 10);
      taken.push(next?.event.id ?? "none");
      await Promise.all([events.append(event(`e${n}`), ["w"]), events.delivered(next?.id ?? 0)]);
    }
    expect(taken).toEqual(Array.from({ length: 10 }, (_, n) => `e${n}`));
  });

  test("a team keeps its newest events, and what is still to be delivered", async () => {
    await using history = await databases.open();
    const { events } = history;
    for (let n = 1; n <= 6; n++) await events.append(event(`e${n}`), n === 2 ? ["w"] : []);
    await events.append(event("b1", { team: "blue" }), []);
    expect(await events.trim(3, 2)).toBe(2);
    expect(await events.trim(3, 2)).toBe(1);
    expect(await events.trim(3, 2)).toBe(0);
    expect((await events.list(all)).map(({ id }) => id)).toEqual(["e2", "e5", "e6", "b1"]);
  });

  test("what is old goes, unless it is still to be delivered", async () => {
    await using history = await databases.open();
    await history.events.append(event("e1"), ["w"]);
    await history.events.append(event("e2"), []);
    expect(await history.events.prune(Date.parse("2027-01-01T00:00:00Z"), 10)).toBe(1);
    expect((await history.events.list(all)).map(({ id }) => id)).toEqual(["e1"]);
  });
});
