import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import type { EndedLog } from "#store/logs/log-store.ts";
import { describeDatabases } from "./databases.ts";
import { at } from "./records.ts";

const admin = { kind: "admin" } as const;

function aLog(sandboxId: string, more: Partial<EndedLog> = {}): EndedLog {
  return { sandboxId, team: "red", user: "ann", container: "main", keptAt: at(0), truncated: false, text: Buffer.from("hello\n"), ...more };
}

describeDatabases("logs of ended sandboxes", (databases) => {
  test("are read as they were kept, byte for byte, and a later one takes the place of an earlier one", async () => {
    await using history = await databases.open();
    const text = randomBytes(100_000);
    await history.logs.put(aLog("a"));
    await history.logs.put(aLog("a", { text, truncated: true, keptAt: at(5) }));
    expect(await history.logs.get("a", admin)).toEqual(aLog("a", { text, truncated: true, keptAt: at(5) }));
    expect(await history.logs.get("b", admin)).toBeUndefined();
  });

  test("L1: are there for their owner and for admins alone", async () => {
    await using history = await databases.open();
    await history.logs.put(aLog("a"));
    const seen = async (scope: Parameters<typeof history.logs.get>[1]) => (await history.logs.get("a", scope)) !== undefined;
    expect(await seen({ kind: "tenant", team: "red" })).toBe(true);
    expect(await seen({ kind: "tenant", team: "red", user: "ann" })).toBe(true);
    expect(await seen({ kind: "tenant", team: "red", user: "bob" })).toBe(false);
    expect(await seen({ kind: "tenant", team: "blue" })).toBe(false);
  });

  test("go after their time, a bounded number at once", async () => {
    await using history = await databases.open();
    for (let second = 0; second < 4; second++) await history.logs.put(aLog(`s${second}`, { keptAt: at(second) }));
    expect(await history.logs.prune({ olderThan: at(3), limit: 2 })).toBe(2);
    expect(await history.logs.prune({ olderThan: at(3), limit: 2 })).toBe(1);
    expect(await history.logs.get("s3", admin)).toBeDefined();
  });

  test("L2: the oldest of a team go until the rest fits, each counted as a page at least", async () => {
    await using history = await databases.open();
    for (let second = 0; second < 4; second++) await history.logs.put(aLog(`s${second}`, { keptAt: at(second) }));
    await history.logs.put(aLog("foreign", { team: "blue", keptAt: at(0) }));
    await history.logs.trim("red", 2 * 4096 + 100);
    const left = await Promise.all(
      ["s0", "s1", "s2", "s3", "foreign"].map(async (id) => (await history.logs.get(id, admin)) !== undefined),
    );
    expect(left).toEqual([false, false, true, true, true]);
  });
});
