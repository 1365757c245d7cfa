/** Gives the space of removed rows in a SQLite file back to the disk. SQLite itself keeps free pages for later writes, so a file stays as large as it ever was. */
import type { DatabaseSync, StatementSync } from "node:sqlite";

/** Space is given back when so many pages are free and they are so large a part of the file: what is free is used again, and moving pages costs. */
const spare = { pages: 1024, share: 0.25 };

/** How many pages one step gives back: a few milliseconds' worth. */
const pagesPerStep = 100;

/** SQLITE_FULL, SQLITE_IOERR, SQLITE_BUSY. */
const cannotRebuildNow: ReadonlySet<number | undefined> = new Set([13, 10, 5]);

/** Pages that come free can be given back to the disk. Call it before the first table and before WAL: only an empty file takes it over at once. */
export function allowGivingBack(db: DatabaseSync): void {
  db.exec("PRAGMA auto_vacuum = INCREMENTAL");
}

/**
 * Writes a file of an AgentBox that never gave space back anew, once: all of it or nothing, as every transaction. It takes the room of a second
 * file for that time. If the disk has no such room, or another process writes, the file stays as it is and works as before; the next start tries again.
 * `allowGivingBack` must have been called on this connection.
 */
export function rebuildIfOld(db: DatabaseSync): void {
  if (Number(db.prepare("PRAGMA auto_vacuum").get()?.["auto_vacuum"]) === 2) return;
  try {
    db.exec("VACUUM");
  } catch (error) {
    if (!cannotRebuildNow.has(sqliteCode(error))) throw error;
  }
}

export class SpareSpace {
  readonly #db: DatabaseSync;
  readonly #checkpoint: string;
  readonly #freePages: StatementSync;
  readonly #pages: StatementSync;
  #isGivingBack = false;

  /** `checkpoint`: TRUNCATE also makes the write-ahead log short, and waits for readers in other processes; PASSIVE waits for nothing. */
  constructor(db: DatabaseSync, checkpoint: "TRUNCATE" | "PASSIVE") {
    this.#db = db;
    this.#checkpoint = `PRAGMA wal_checkpoint(${checkpoint})`;
    this.#freePages = db.prepare("PRAGMA freelist_count");
    this.#pages = db.prepare("PRAGMA page_count");
  }

  /** One small step. True: there is more to give back. Once begun, it goes on down to the last free page: beginning again at the border would never end. */
  giveBackSome(): boolean {
    const free = this.#free();
    const pages = Number(this.#pages.get()?.["page_count"]);
    if (!this.#isGivingBack && (free < spare.pages || free < spare.share * pages)) return false;
    this.#db.exec(`PRAGMA incremental_vacuum(${pagesPerStep})`);
    this.#isGivingBack = free > pagesPerStep && this.#free() < free;
    // The file becomes shorter when what was written ahead of it is folded into it.
    if (!this.#isGivingBack) this.#db.exec(this.#checkpoint);
    return this.#isGivingBack;
  }

  #free(): number {
    return Number(this.#freePages.get()?.["freelist_count"]);
  }
}

/** The primary result code of an error that SQLite threw. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return Number(error.errcode) & 0xff;
}
