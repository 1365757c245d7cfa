import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "#lib/clock.ts";
import { HistoryError } from "#store/history-error.ts";
import { openHistory } from "#store/open-history.ts";
import { parseDatabaseUrl } from "#store/postgres/database-url.ts";
import { openPostgresHistory } from "#store/postgres/store.ts";
import { recordedLog } from "../world/recorded-log.ts";
import { describeDatabases, newPostgresDatabase, openTestHistory, postgres } from "./databases.ts";
import { serverPassword } from "./postgres-server.ts";
import { aRecord } from "./records.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-history-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const databaseOf = (location: string) => parseDatabaseUrl(location).database ?? "";

/** Everything that a user sees when opening fails: the whole error and the log. */
async function refusal(location: string): Promise<{ readonly code: string; readonly message: string; readonly all: string }> {
  const { log, lines } = recordedLog();
  try {
    const history = location.startsWith("postgres")
      ? await openPostgresHistory({ address: parseDatabaseUrl(location), clock: systemClock, log, patienceMs: 200 })
      : await openHistory({ location, clock: systemClock, log });
    await history.close();
  } catch (error) {
    if (!(error instanceof HistoryError)) throw error;
    log.error({ error }, "shown");
    return { code: error.code, message: error.message, all: JSON.stringify(lines) + String(error.stack) + String(error.cause) };
  }
  throw new Error("was opened");
}

describeDatabases("opening a history", (databases) => {
  test("one that a newer version has changed is refused, naming both versions", async () => {
    const location = await databases.location();
    await (await openTestHistory(location)).close();
    if (databases.name === "sqlite") {
      const db = new DatabaseSync(location);
      db.exec("INSERT INTO migrations VALUES (99, 'later', 'then')");
      db.close();
    } else {
      await postgres().run(databaseOf(location), "INSERT INTO agentbox_history_migrations (version, name) VALUES (99, 'later')");
    }
    const { code, message } = await refusal(location);
    expect(code).toBe("misconfigured");
    expect(message).toMatch(/newer AgentBox \(schema 99, this one knows up to \d+\)/);
  });

  test("it is said where the history is, and nothing about the password", async () => {
    const { log, lines } = recordedLog();
    const plain = await databases.location();
    const location = databases.name === "sqlite" ? plain : postgres().tcpUrl(databaseOf(plain));
    const history = await openHistory({ location, clock: systemClock, log });
    await history.put(aRecord("a"));
    await history.close();
    expect(lines).toMatchObject([{ msg: "history opened", database: history.description }]);
    expect(history.description).toMatch(databases.name === "sqlite" ? /^SQLite in / : /^PostgreSQL at 127.0.0.1:/);
    expect(JSON.stringify(lines)).not.toContain(serverPassword);
  });
});

describe("opening PostgreSQL", () => {
  test("a wrong password is said to be wrong, without showing it", async () => {
    const { code, message, all } = await refusal(postgres().tcpUrl("postgres", "wr0ng-pa55word"));
    expect(code).toBe("misconfigured");
    expect(message).toMatch(/refuses user or password/);
    expect(all).not.toContain("wr0ng-pa55word");
  });

  test("a missing password is said to be missing", async () => {
    expect(await refusal(`postgres://agentbox@127.0.0.1:${postgres().port}/postgres`)).toMatchObject({
      code: "misconfigured",
      message: expect.stringMatching(/asks for a password, and DATABASE_URL has none/) as string,
    });
  });

  test("a server that is not there is said to be unreachable, after some tries", async () => {
    const { code, message, all } = await refusal("postgres://ann:hidden-pa55word@127.0.0.1:1/boxes");
    expect(code).toBe("unavailable");
    expect(message).toMatch(/PostgreSQL at 127.0.0.1:1\/boxes does not answer: .*ECONNREFUSED/);
    expect(all).toContain("trying again");
    expect(all).not.toContain("hidden-pa55word");
  });

  test("a host that has no address is named", async () => {
    const { code, message } = await refusal("postgres://ann:pw@no-such-host.invalid/boxes");
    expect(code).toBe("unavailable");
    expect(message).toContain("no-such-host.invalid");
  });

  test("a database that does not exist is said not to exist", async () => {
    expect(await refusal(postgres().tcpUrl("nowhere"))).toMatchObject({
      code: "misconfigured",
      message: expect.stringMatching(/\/nowhere does not exist/) as string,
    });
  });

  test("a server without encryption is said to have none", async () => {
    expect(await refusal(`${postgres().tcpUrl("postgres")}?sslmode=require`)).toMatchObject({
      code: "misconfigured",
      message: expect.stringMatching(/encryption .*sslmode/) as string,
    });
  });

  test("a user who may not create tables cannot set it up, but can use what is set up", async () => {
    const database = databaseOf(await newPostgresDatabase());
    await postgres().run(database, "CREATE ROLE little LOGIN; REVOKE CREATE ON SCHEMA public FROM public");
    const asLittle = postgres().url(database).replace("agentbox@", "little@");
    expect(await refusal(asLittle)).toMatchObject({ code: "misconfigured", message: expect.stringMatching(/create tables/) as string });

    await (await openTestHistory(postgres().url(database))).close();
    await postgres().run(database, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO little");
    await using history = await openTestHistory(asLittle);
    await history.put(aRecord("a"));
    expect(await history.get("a", { kind: "admin" })).toEqual(aRecord("a"));
  });
});

describe("opening SQLite", () => {
  test("the file is for its owner alone, for metadata may be private", async () => {
    const file = join(folder, "private.db");
    const history = await openTestHistory(`sqlite:${file}`);
    await history.put(aRecord("a"));
    for (const name of [file, `${file}-wal`]) expect((await stat(name)).mode & 0o777).toBe(0o600);
    await history.close();
  });

  test("a new file that another process is just setting up is waited for", async () => {
    const file = join(folder, "new.db");
    const other = new DatabaseSync(file);
    other.exec("BEGIN EXCLUSIVE");
    const opening = openTestHistory(file);
    setTimeout(() => other.exec("COMMIT"), 10);
    await using history = await opening;
    expect(await history.health()).toMatchObject({ ok: true });
    other.close();
  });

  test.each([
    ["a folder that is not there", "missing/history.db", /cannot be opened/],
    ["a file of another sort", "letter.txt", /damaged or not a history/],
    ["a database of another program", "other.db", /not a history of AgentBox/],
    ["a folder", "", /cannot be opened/],
  ])("%s is said to be no history", async (_, name, message) => {
    await writeFile(join(folder, "letter.txt"), "Dear all, ".repeat(1000));
    const other = new DatabaseSync(join(folder, "other.db"));
    other.exec("CREATE TABLE IF NOT EXISTS things (id INTEGER)");
    other.close();
    expect(await refusal(join(folder, name))).toMatchObject({ code: "misconfigured", message: expect.stringMatching(message) as string });
  });
});

describe("an address of another kind", () => {
  test.each(["mysql://ann:hidden-pa55word@db.test/boxes", "https://ann:hidden-pa55word@db.test", "", "  "])(
    "is refused, and not repeated: %j",
    async (location) => {
      const { code, message, all } = await refusal(location);
      expect(code).toBe("misconfigured");
      expect(message).toMatch(/DATABASE_URL .*postgres:\/\/… or the path of a file/);
      expect(all).not.toContain("hidden-pa55word");
    },
  );
});
