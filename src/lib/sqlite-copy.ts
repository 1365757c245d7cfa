/** Copies a SQLite database while it is in use. */
import { closeSync, openSync } from "node:fs";
import { backup, type DatabaseSync } from "node:sqlite";

export interface CopyWatch {
  readonly onProgress?: (copied: number, total: number) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Pages of 4 KiB in one step. SQLite holds the connection's lock for one step, and a write of this process waits that long. */
const pagesPerStep = 50;

/**
 * Writes the database as it is at the end of the copy into a new file that only its owner reads. The steps run in Node's thread pool, so the
 * process goes on working in between. A write through `db` itself goes into the copy too; a write through another connection makes SQLite
 * begin the copy anew, so `db` must own the file or hold a read transaction. A copy that fails leaves a part of the file: the caller removes it.
 */
export async function copyDatabase(db: DatabaseSync, file: string, { onProgress, signal }: CopyWatch = {}): Promise<void> {
  signal?.throwIfAborted();
  closeSync(openSync(file, "wx", 0o600));
  await backup(db, file, {
    rate: pagesPerStep,
    progress: ({ totalPages, remainingPages }) => {
      signal?.throwIfAborted();
      onProgress?.(totalPages - remainingPages, totalPages);
    },
  });
}
