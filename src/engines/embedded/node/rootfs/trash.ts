import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "#lib/log.ts";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import { hasCode } from "#lib/native/files.ts";

/**
 * Folders that are to be deleted: moved here at once, removed in the background, one after another. `rm` removes them, because a
 * sandbox may have nested folders deeper than the longest path that Node can pass.
 */
export class Trash {
  readonly #folder: string;
  readonly #log: Logger;
  readonly #elsewhere: string[] = [];
  #more = false;
  #emptying: Promise<void> | undefined;
  #closed = false;

  constructor(folder: string, log: Logger) {
    this.#folder = folder;
    this.#log = log;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#empty();
  }

  /** Takes a file or folder; one that is not there is a success. What lies on another file system is removed where it is. */
  take(path: string): void {
    try {
      renameSync(path, join(this.#folder, randomUUID()));
    } catch (error) {
      if (hasCode(error, "ENOENT")) return;
      if (!hasCode(error, "EXDEV")) throw error;
      this.#elsewhere.push(path);
    }
    this.#empty();
  }

  /** Resolves when what is in there now is gone. */
  async emptied(): Promise<void> {
    await this.#emptying;
  }

  /** Stops after what is being removed now; the rest goes the next time. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#emptying;
  }

  #empty(): void {
    this.#more = true;
    this.#emptying ??= this.#removeAll();
  }

  async #removeAll(): Promise<void> {
    while (this.#more && !this.#closed) {
      this.#more = false;
      const here = readdirSync(this.#folder).map((name) => join(this.#folder, name));
      await this.#remove([...here, ...this.#elsewhere.splice(0)]);
    }
    this.#emptying = undefined;
  }

  async #remove(paths: readonly string[]): Promise<void> {
    if (paths.length === 0) return;
    try {
      await runCommand(["rm", "-rf", "--one-file-system", "--", ...paths]);
    } catch (error) {
      this.#log.warn({ error, folder: this.#folder }, "could not empty the trash");
    }
  }
}
