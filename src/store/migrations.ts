/** Which changes of a schema are due. What differs between the databases (locks, SQL) is in their own folders. */
import { HistoryError } from "./history-error.ts";

/**
 * Applied in order, each once, each in a transaction with the note that it was. Databases are in the field: never edit one, append
 * another. While processes are exchanged one by one, older ones go on with the newer schema, so a migration may add tables, columns
 * with defaults and indexes, and take away only what the version before it no longer used.
 */
export interface Migration {
  readonly name: string;
  readonly sql: string;
}

export interface DueMigration extends Migration {
  /** Counted from 1. */
  readonly version: number;
}

/** The migrations after `version`. Throws HistoryError `misconfigured` when the schema is newer than this program. */
export function dueMigrations(all: readonly Migration[], version: number, description: string): readonly DueMigration[] {
  if (version > all.length) {
    throw new HistoryError(
      "misconfigured",
      `${description} was written by a newer AgentBox (schema ${version}, this one knows up to ${all.length}): use that one`,
    );
  }
  return all.map((migration, index) => ({ ...migration, version: index + 1 })).slice(version);
}
