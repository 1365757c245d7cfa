import { describe, expect, test } from "vitest";
import { failureReasons } from "#model/keys.ts";
import { describeDatabases } from "./databases.ts";
import { aLiveRecord, aRecord, at } from "./records.ts";

const admin = { kind: "admin" } as const;

describeDatabases("putting a record", (databases) => {
  test("a record comes back as it was put, and frozen", async () => {
    await using history = await databases.open();
    const record = aRecord("a", { exitCode: 0, labels: { app: "x" }, failureReason: "Error", failureMessage: "line\nline" });
    await history.put(record);
    const found = await history.get("a", admin);
    expect(found).toEqual(record);
    expect(Object.isFrozen(found?.metadata)).toBe(true);
  });

  test("W9: a record is there after the store was closed and opened again", async () => {
    const location = await databases.location();
    {
      await using history = await databases.open(location);
      await history.put(aRecord("a"));
    }
    await using again = await databases.open(location);
    expect(await again.get("a", admin)).toEqual(aRecord("a"));
  });

  test("putting the same record again changes nothing", async () => {
    await using history = await databases.open();
    for (let round = 0; round < 3; round++) await history.put(aRecord("a"));
    expect((await history.search({ scope: admin, limit: 10 })).records).toEqual([aRecord("a")]);
  });

  test("the first end that is stored is the end", async () => {
    await using history = await databases.open();
    const ended = aRecord("a");
    await history.put(ended);
    await history.put(aRecord("a", { status: "Failed", stopReason: "Failed", failureReason: failureReasons.podDeleted, exitCode: 137 }));
    expect(await history.get("a", admin)).toEqual(ended);
  });

  test("an end that was recorded without its details gets them from a later record of the same end", async () => {
    await using history = await databases.open();
    const bare = aRecord("a", { status: "Failed", stopReason: "Failed", terminatedAt: at(60) });
    const details = { failureReason: failureReasons.oomKilled, failureMessage: "out of memory", exitCode: 137 };
    await history.put(bare);
    await history.put({ ...bare, ...details, terminatedAt: at(61) });
    expect(await history.get("a", admin)).toEqual({ ...bare, ...details });
  });

  test("a record never goes back from ended to live", async () => {
    await using history = await databases.open();
    await history.put(aRecord("a"));
    await history.put(aLiveRecord("a"));
    expect((await history.get("a", admin))?.status).toBe("Completed");
  });

  test("an end is added to a live record, and what only the live one knew is kept", async () => {
    await using history = await databases.open();
    await history.put(aLiveRecord("a", { node: "node-7", metadata: { run: "7", early: "yes" } }));
    const { node: _, ...ended } = aRecord("a", { metadata: { run: "8" } });
    await history.put(ended);
    const found = await history.get("a", admin);
    expect(found).toMatchObject({ status: "Completed", node: "node-7", metadata: { run: "8", early: "yes" } });
    expect((await history.search({ scope: admin, limit: 9, metadata: { run: "7" } })).records).toEqual([]);
    expect((await history.search({ scope: admin, limit: 9, metadata: { run: "8", early: "yes" } })).records).toEqual([found]);
  });

  test("the end of a resumed sandbox's later life replaces that of the earlier one", async () => {
    await using history = await databases.open();
    await history.put(aRecord("a", { status: "Released", stopReason: "Released" }));
    const later = aRecord("a", { claimedAt: at(50_000), terminatedAt: at(60_000), podName: "another" });
    await history.put(later);
    await history.put(aRecord("a", { status: "Released", stopReason: "Released" }));
    expect(await history.get("a", admin)).toEqual(later);
    expect((await history.search({ scope: admin, limit: 9, metadata: { run: "7" } })).records).toEqual([later]);
  });

  test.each([
    ["team", { team: "blue" }],
    ["user", { user: "bert" }],
    ["namespace", { namespace: "other" }],
  ])("a record under the id of another %s's sandbox is refused", async (_, different) => {
    await using history = await databases.open();
    await history.put(aRecord("a"));
    await expect(history.put(aRecord("a", different))).rejects.toMatchObject({ code: "conflict" });
    expect(await history.get("a", admin)).toEqual(aRecord("a"));
  });

  test("what a program wrote into its last words can be stored, whatever it is", async () => {
    await using history = await databases.open();
    await history.put(
      aRecord("a", { failureMessage: "nul \0, half \ud800, 'quote', \\u0000", metadata: { "k\0": "v\udfff", __proto__x: "ö☃🎉" } }),
    );
    expect(await history.get("a", admin)).toMatchObject({
      failureMessage: "nul \uFFFD, half \uFFFD, 'quote', \\u0000",
      metadata: { "k\uFFFD": "v\uFFFD", __proto__x: "ö☃🎉" },
    });
    expect((await history.search({ scope: admin, limit: 1, metadata: { "k\0": "v\udfff" } })).records).toHaveLength(1);
  });

  test("metadata of 100 KB is stored and found", async () => {
    await using history = await databases.open();
    const metadata = { big: "x".repeat(100_000), run: "7" };
    await history.put(aRecord("a", { metadata }));
    expect((await history.search({ scope: admin, limit: 1, metadata })).records).toHaveLength(1);
  });

  test("times are stored in one form, whatever form they came in", async () => {
    await using history = await databases.open();
    await history.put(aRecord("a", { claimedAt: "2026-01-10T12:00:00+02:00", terminatedAt: "2026-01-10T10:05:00Z" }));
    expect(await history.get("a", admin)).toEqual(aRecord("a"));
  });

  describe("what makes no sense is refused, naming the field", () => {
    test.each([
      ["sandboxId", aRecord("")],
      ["sandboxId", aRecord("ü")],
      ["claimedAt", aRecord("a", { claimedAt: "yesterday" })],
      ["terminatedAt", aRecord("a", { terminatedAt: "0000-00-00" })],
      ["terminatedAt", aLiveRecord("a", { status: "Failed" })],
      ["exitCode", aRecord("a", { exitCode: 1.5 })],
      ["poolName", aRecord("a", { poolName: "p".repeat(254) })],
      // A status that no version knows, as a record built from a foreign label might have.
      ["status", aRecord("a", { status: "Vanished" as "Failed" })],
    ])("%s", async (field, record) => {
      await using history = await databases.open();
      await expect(history.put(record)).rejects.toMatchObject({ code: "invalid", message: expect.stringContaining(field) as string });
      expect((await history.search({ scope: admin, limit: 1 })).records).toEqual([]);
    });
  });

  test("a store that is closed says so", async () => {
    const history = await databases.open();
    await history.close();
    await history.close();
    await expect(history.put(aRecord("a"))).rejects.toMatchObject({ code: "closed" });
    await expect(history.search({ scope: admin, limit: 1 })).rejects.toMatchObject({ code: "closed" });
    expect(await history.health()).toMatchObject({ ok: false });
  });

  test("a healthy store says so", async () => {
    await using history = await databases.open();
    expect(await history.health()).toMatchObject({ ok: true });
  });
});
