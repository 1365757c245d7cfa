/** What happens while PostgreSQL is away, silent or slow. It has a server of its own, to do these things to. */
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "#lib/clock.ts";
import type { HistoryStore } from "#store/history-store.ts";
import type { ConnectionOptions } from "#store/postgres/connection.ts";
import { parseDatabaseUrl } from "#store/postgres/database-url.ts";
import { openPostgresHistory } from "#store/postgres/store.ts";
import { eventually } from "../world/eventually.ts";
import { type RecordedLine, recordedLog } from "../world/recorded-log.ts";
import { type PostgresServer, serverPassword, startPostgres } from "./postgres-server.ts";
import { aRecord } from "./records.ts";

const admin = { kind: "admin" } as const;

let server: PostgresServer;
let database = "";
let databases = 0;
beforeAll(async () => {
  server = await startPostgres();
}, 60_000);
afterAll(() => server.stop());
beforeEach(async () => {
  database = `outage_${databases++}`;
  await server.createDatabase(database);
});

type Opened = { readonly history: HistoryStore; readonly lines: readonly RecordedLine[] } & AsyncDisposable;

async function open(options: Partial<ConnectionOptions> = {}): Promise<Opened> {
  const { log, lines } = recordedLog();
  const address = parseDatabaseUrl(server.tcpUrl(database));
  const history = await openPostgresHistory({ address, clock: systemClock, log, ...options });
  return { history, lines, [Symbol.asyncDispose]: () => history.close() };
}

describe("a PostgreSQL that", () => {
  test("is killed and comes back: a put that began meanwhile is stored, what was stored is there, and no password is logged", async () => {
    await using opened = await open({ patienceMs: 30_000 });
    const { history, lines } = opened;
    await history.put(aRecord("before"));
    await server.signal("SIGKILL");
    const during = Promise.all([history.put(aRecord("during")), history.get("before", admin)]);
    expect(await history.health()).toMatchObject({ ok: false, problem: expect.stringContaining("does not answer") as string });
    await eventually(() => expect(lines.map((line) => line.msg)).toContain("database does not answer, trying again"));
    await server.start();
    await during;
    expect(await history.get("before", admin)).toEqual(aRecord("before"));
    expect(await history.get("during", admin)).toEqual(aRecord("during"));
    expect(await history.health()).toMatchObject({ ok: true });
    const outage = lines.map((line) => line.msg).filter((message) => message !== "database connection lost");
    expect(outage).toEqual(["database does not answer, trying again", "database answers again"]);
    expect(JSON.stringify(lines)).not.toContain(serverPassword);
  }, 60_000);

  test("stays away: a call gives up when its patience ends, and says why", async () => {
    await using opened = await open({ patienceMs: 300 });
    await server.signal("SIGKILL");
    await expect(opened.history.put(aRecord("a"))).rejects.toMatchObject({ code: "unavailable" });
    await expect(opened.history.search({ scope: admin, limit: 1 })).rejects.toMatchObject({ code: "unavailable" });
    await server.start();
    await opened.history.put(aRecord("a"));
  }, 60_000);

  test("falls silent: calls end, and its connections are not used again when it speaks", async () => {
    await using opened = await open({ patienceMs: 100, statementTimeoutMs: 200, maxConnections: 2 });
    const { history } = opened;
    await history.put(aRecord("before"));
    await server.signal("SIGSTOP");
    try {
      const calls = [1, 2, 3, 4].map((number) => history.put(aRecord(`s${number}`)));
      const ends = await Promise.allSettled(calls);
      expect(ends.map(({ status }) => status)).toEqual(calls.map(() => "rejected"));
    } finally {
      await server.signal("SIGCONT");
    }
    await eventually(() => history.put(aRecord("after")));
    expect(await history.get("after", admin)).toEqual(aRecord("after"));
  }, 60_000);

  test("ends our connections: the next call makes another, whether they were idle or not", async () => {
    await using opened = await open();
    const { history, lines } = opened;
    await history.put(aRecord("a"));
    const ours = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'agentbox'";
    await server.run(database, ours);
    await eventually(() => expect(lines.map((line) => line.msg)).toContain("database connection lost"));
    const puts = Array.from({ length: 200 }, (_, index) => history.put(aRecord(`s${index}`)));
    await server.run(database, ours);
    await Promise.all(puts);
    expect((await history.statistics({ scope: admin, claimedAfter: "2026-01-01" })).total).toBe(201);
  }, 60_000);

  test("is killed while the tables are made: they are made when it is back", async () => {
    const lock = server.run(database, "BEGIN; SELECT pg_advisory_xact_lock(x'41674268'::int); SELECT pg_sleep(60); COMMIT");
    lock.catch(() => {});
    await setTimeout(200);
    const opening = open({ patienceMs: 30_000 });
    await eventually(async () => {
      const waiting = await server.run(
        database,
        "SELECT 1 FROM pg_stat_activity WHERE application_name = 'agentbox' AND wait_event = 'advisory'",
      );
      expect(waiting).toHaveLength(1);
    });
    await server.signal("SIGKILL");
    await server.start();
    await using opened = await opening;
    await opened.history.put(aRecord("a"));
    expect(opened.lines.map((line) => line.msg)).toContain("database answers again");
  }, 60_000);

  test("is held up: a statement ends by its timeout, and the caller is told that it took too long", async () => {
    await using opened = await open({ statementTimeoutMs: 200 });
    const lock = server.run(database, "BEGIN; LOCK TABLE agentbox_history; SELECT pg_sleep(2); COMMIT");
    await setTimeout(200);
    await expect(opened.history.search({ scope: admin, limit: 1 })).rejects.toMatchObject({ code: "too-slow" });
    await lock;
    expect(await opened.history.search({ scope: admin, limit: 1 })).toEqual({ records: [] });
  }, 60_000);

  test("has many callers gets no more connections than it may", async () => {
    await using opened = await open({ maxConnections: 3 });
    const puts = Array.from({ length: 500 }, (_, index) => opened.history.put(aRecord(`s${index}`)));
    const [row] = await server.run(database, "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'agentbox'");
    await Promise.all(puts);
    expect(row?.["n"]).toBeLessThanOrEqual(3);
  }, 60_000);

  test("has callers when the history is closed: what they began is finished", async () => {
    const { history } = await open({ maxConnections: 2 });
    const puts = Array.from({ length: 50 }, (_, index) => history.put(aRecord(`s${index}`)));
    await history.close();
    const ends = await Promise.allSettled(puts);
    expect(ends.every(({ status }) => status === "fulfilled")).toBe(true);
    await expect(history.put(aRecord("late"))).rejects.toMatchObject({ code: "closed" });
  }, 60_000);

  test("is away when the history is closed: whoever waits is told at once", async () => {
    const { history } = await open({ patienceMs: 60_000 });
    await server.signal("SIGKILL");
    const waiting = Promise.allSettled([history.put(aRecord("a"))]);
    await history.close();
    expect(await waiting).toMatchObject([{ status: "rejected", reason: { code: "closed" } }]);
    await server.start();
  }, 60_000);
});
