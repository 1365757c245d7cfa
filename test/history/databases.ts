/** One suite, both databases: where the two differ, one of them is wrong. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, inject } from "vitest";
import { systemClock } from "#lib/clock.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { openHistory } from "#store/open-history.ts";
import { recordedLog } from "../world/recorded-log.ts";
import { PostgresAddress } from "./postgres-server.ts";

export type DatabaseName = "sqlite" | "postgres";

export interface TestDatabases {
  readonly name: DatabaseName;
  /** The address of a new, empty database. */
  location(): Promise<string>;
  /** Opened, and closed when the test's scope ends. */
  open(location?: string): Promise<HistoryStore & AsyncDisposable>;
}

let databases = 0;

export function describeDatabases(title: string, suite: (databases: TestDatabases) => void): void {
  for (const name of ["sqlite", "postgres"] as const) {
    describe(`${title} on ${name}`, () => {
      let folder = "";
      beforeAll(async () => {
        folder = await mkdtemp(join(tmpdir(), "agentbox-history-"));
      });
      afterAll(() => rm(folder, { recursive: true, force: true }));
      const location = async (): Promise<string> => (name === "sqlite" ? join(folder, `${databases++}.db`) : newPostgresDatabase());
      suite({ name, location, open: async (given) => openTestHistory(given ?? (await location())) });
    });
  }
}

/** For tests of PostgreSQL alone. */
export function postgres(): PostgresAddress {
  return new PostgresAddress(inject("postgres"));
}

export async function newPostgresDatabase(): Promise<string> {
  const name = `test_${process.pid}_${databases++}`;
  await postgres().createDatabase(name);
  return postgres().url(name);
}

export async function openTestHistory(location: string): Promise<HistoryStore & AsyncDisposable> {
  const history = await openHistory({ location, clock: systemClock, log: recordedLog().log });
  return Object.assign(history, { [Symbol.asyncDispose]: () => history.close() });
}
