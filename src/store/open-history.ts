/** Chooses the database by its address. */
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { HistoryError } from "./history-error.ts";
import type { HistoryStore } from "./history-store.ts";
import type { Durability } from "./sqlite/connection.ts";

export interface HistoryOptions {
  /** DATABASE_URL if it is set: `postgres://…`, or the path of a SQLite file (`sqlite:` may stand before it). Else the path of a file in the data folder. */
  readonly location: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Of SQLite; PostgreSQL has its own settings for it. */
  readonly durability?: Durability;
}

const scheme = /^([a-z][a-z0-9+.-]*):/i;

/** Throws HistoryError, in words for the person that set DATABASE_URL, and never with the password in them. */
export async function openHistory(options: HistoryOptions): Promise<HistoryStore> {
  const history = await open(options.location.trim(), options);
  options.log.info({ database: history.description }, "history opened");
  return history;
}

async function open(location: string, { clock, log, durability = "process-crash" }: HistoryOptions): Promise<HistoryStore> {
  const place = historyPlace(location);
  if (place.kind === "postgres") {
    // Loaded only where it is used: one machine without PostgreSQL does not need the driver.
    const [{ openPostgresHistory }, { parseDatabaseUrl }] = await Promise.all([
      import("./postgres/store.ts"),
      import("./postgres/database-url.ts"),
    ]);
    return openPostgresHistory({ address: parseDatabaseUrl(location), clock, log });
  }
  const { openSqliteHistory } = await import("./sqlite/store.ts");
  return openSqliteHistory({ file: place.file, clock, durability });
}

export type HistoryPlace = { readonly kind: "postgres" } | { readonly kind: "sqlite"; readonly file: string };

/** Which database a location is of. Throws HistoryError. */
export function historyPlace(location: string): HistoryPlace {
  if (location === "")
    throw new HistoryError("misconfigured", "DATABASE_URL is empty: leave it out, or give postgres://… or the path of a file");
  switch (scheme.exec(location)?.[1]?.toLowerCase()) {
    case "postgres":
    case "postgresql":
      return { kind: "postgres" };
    case undefined:
    case "sqlite":
      return { kind: "sqlite", file: location.replace(/^sqlite:(\/\/)?/i, "") };
    default:
      // The rest of it may hold a password of some other database.
      throw new HistoryError("misconfigured", "DATABASE_URL is of a kind that is not known: give postgres://… or the path of a file");
  }
}
