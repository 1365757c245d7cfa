/**
 * Where files and folders are made before one rename moves them to their place, so no reader ever sees a half-written one. Each
 * process has a folder of its own under `tmp`, held by a lock. A folder without a holder was left by a process that died; the next
 * process removes it.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Clock } from "#lib/clock.ts";
import { hasCode } from "#lib/native/files.ts";
import { type FileLock, FileLocks } from "./locks.ts";

const ownersFolder = "owners";

export class Scratch implements AsyncDisposable {
  readonly #folder: string;
  readonly #lock: FileLock;
  #count = 0;

  private constructor(folder: string, lock: FileLock) {
    this.#folder = folder;
    this.#lock = lock;
  }

  static async open(tmp: string, clock: Clock): Promise<Scratch> {
    const owners = new FileLocks(join(tmp, ownersFolder), clock);
    await sweep(tmp, owners);
    const name = randomBytes(8).toString("hex");
    // The lock comes before the folder: a folder without one is free to be swept.
    const lock = await owners.acquire(name, "exclusive");
    await mkdir(join(tmp, name), { recursive: true });
    return new Scratch(join(tmp, name), lock);
  }

  /** A new unique path. Nothing is there yet. */
  newPath(): string {
    return join(this.#folder, String(this.#count++));
  }

  /** Writes a file that is either there in full or not at all. */
  async writeFile(path: string, content: Uint8Array | string): Promise<void> {
    const draft = this.newPath();
    await writeFile(draft, content, { mode: 0o600 });
    await rename(draft, path);
  }

  /** Removes a file or folder; it is gone from its place at once, however long the rest takes. */
  async remove(path: string): Promise<void> {
    const trash = this.newPath();
    try {
      await rename(path, trash);
    } catch (error) {
      if (hasCode(error, "ENOENT")) return;
      throw error;
    }
    await removeTree(trash);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await removeTree(this.#folder);
    await this.#lock[Symbol.asyncDispose]();
  }
}

async function sweep(tmp: string, owners: FileLocks): Promise<void> {
  const named = [...(await readdir(tmp).catch(() => [])), ...(await readdir(join(tmp, ownersFolder)).catch(() => []))];
  for (const name of new Set(named)) {
    const lock = name === ownersFolder ? undefined : await owners.tryAcquire(name, "exclusive");
    if (lock === undefined) continue;
    await removeTree(join(tmp, name));
    await lock[Symbol.asyncDispose]();
  }
}

/** A copy of a sandbox's files may have folders that are nested deeper than the longest path that Node can pass; `rm` goes down step by step. */
async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if (!hasCode(error, "ENAMETOOLONG")) throw error;
    await promisify(execFile)("rm", ["-rf", "--one-file-system", "--", path]);
  }
}
