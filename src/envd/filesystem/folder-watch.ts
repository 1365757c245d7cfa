import { readdir, stat, statfs } from "node:fs/promises";
import { join } from "node:path";
import { ConnectError } from "#envd/connect/connect-error.ts";
import { codeOf } from "#envd/files/file-failure.ts";
import { underWay } from "#envd/files/replace-file.ts";
import type { EventType } from "#envd-protocol/filesystem-messages.ts";
import { systemFailure } from "./system-failure.ts";
import { Inotify, inotifyMask as bits, type RawEvent } from "./inotify.ts";

/** The kernel does not report changes that other machines make. */
const networkFileSystems: ReadonlySet<number> = new Set([0x6969, 0xff534d42, 0xfe534d42, 0x65735546, 0x01021997, 0x00c36400, 0x5346414f]);

export interface WatchOptions {
  readonly helper: string;
  readonly path: string;
  readonly isRecursive: boolean;
  readonly allowsNetwork: boolean;
}

export interface FolderEvent {
  /** Relative to the watched folder. */
  readonly name: string;
  readonly type: EventType;
}

/** Reports changes in a folder, and below it if recursive. */
export class FolderWatch {
  readonly #options: WatchOptions;
  readonly #tell: (event: FolderEvent) => void;
  readonly #folders = new Map<number, string>();
  /** The renames of our own uploads: watchers should see a written file, not how it was written. */
  readonly #uploads = new Map<number, "create" | "replace">();
  /** New folders that are not watched yet. */
  readonly #following = new Set<Promise<void>>();
  #inotify: Inotify | undefined;

  private constructor(options: WatchOptions, tell: (event: FolderEvent) => void) {
    this.#options = options;
    this.#tell = tell;
  }

  /** Throws ConnectError. */
  static async open(options: WatchOptions, tell: (event: FolderEvent) => void): Promise<FolderWatch> {
    await checkFolder(options);
    const watch = new FolderWatch(options, tell);
    watch.#inotify = await Inotify.open(options.helper, (event) => watch.#take(event)).catch((error: unknown) => {
      throw new ConnectError("resource_exhausted", error instanceof Error ? error.message : String(error));
    });
    await watch.#follow("", false);
    return watch;
  }

  /** Resolves when all that has happened until now was told, also in new folders. */
  async caughtUp(): Promise<void> {
    do {
      await this.#inotify?.caughtUp();
      await Promise.all(this.#following);
    } while (this.#following.size > 0);
  }

  close(): void {
    this.#inotify?.close();
  }

  /** `tells`: reports existing entries as created, because they appeared before the folder was watched. */
  async #follow(folder: string, tells: boolean): Promise<void> {
    const path = join(this.#options.path, folder);
    const number = await this.#inotify?.watch(path);
    if (number === undefined) return;
    this.#folders.set(number, folder);
    if (!this.#options.isRecursive) return;
    for (const entry of await readdir(path, { withFileTypes: true }).catch(() => [])) {
      const name = join(folder, entry.name);
      if (tells && !isUnderWay(entry.name)) this.#tell({ name, type: "EVENT_TYPE_CREATE" });
      if (entry.isDirectory()) await this.#follow(name, tells);
    }
  }

  #followNew(folder: string): void {
    const following = this.#follow(folder, true).catch(() => {});
    this.#following.add(following);
    void following.then(() => this.#following.delete(following));
  }

  #take({ watch, mask, cookie, name }: RawEvent): void {
    const folder = this.#folders.get(watch);
    if ((mask & bits.ignored) !== 0) this.#folders.delete(watch);
    if (folder === undefined || name === "") return;
    const path = join(folder, name);
    if (isUnderWay(name)) {
      if ((mask & bits.movedFrom) !== 0) this.#uploads.set(cookie, name.startsWith(underWay.creating) ? "create" : "replace");
      return;
    }
    for (const type of this.#typesOf(mask, cookie)) this.#tell({ name: path, type });
    if (this.#options.isRecursive && isNewFolder(mask)) this.#followNew(path);
  }

  #typesOf(mask: number, cookie: number): readonly EventType[] {
    const upload = (mask & bits.movedTo) === 0 ? undefined : this.#uploads.get(cookie);
    this.#uploads.delete(cookie);
    return upload === undefined ? typesOf(mask) : uploadTypes[upload];
  }
}

/** What a program would cause that creates or opens the file, gives it to its user and writes it. */
const uploadTypes: Readonly<Record<"create" | "replace", readonly EventType[]>> = {
  create: ["EVENT_TYPE_CREATE", "EVENT_TYPE_CHMOD", "EVENT_TYPE_WRITE"],
  replace: ["EVENT_TYPE_CHMOD", "EVENT_TYPE_WRITE"],
};

function typesOf(mask: number): EventType[] {
  const types: EventType[] = [];
  if ((mask & (bits.create | bits.movedTo)) !== 0) types.push("EVENT_TYPE_CREATE");
  if ((mask & bits.modify) !== 0) types.push("EVENT_TYPE_WRITE");
  if ((mask & bits.delete) !== 0) types.push("EVENT_TYPE_REMOVE");
  if ((mask & bits.movedFrom) !== 0) types.push("EVENT_TYPE_RENAME");
  if ((mask & bits.attributes) !== 0) types.push("EVENT_TYPE_CHMOD");
  return types;
}

function isNewFolder(mask: number): boolean {
  return (mask & bits.isFolder) !== 0 && (mask & (bits.create | bits.movedTo)) !== 0;
}

function isUnderWay(name: string): boolean {
  return name.startsWith(underWay.creating) || name.startsWith(underWay.replacing);
}

async function checkFolder({ path, allowsNetwork }: WatchOptions): Promise<void> {
  const found = await stat(path).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") throw new ConnectError("not_found", `path ${path} not found`);
    throw systemFailure(path, error);
  });
  if (!found.isDirectory()) throw new ConnectError("invalid_argument", `path ${path} is not a directory`);
  if (!allowsNetwork && networkFileSystems.has((await statfs(path)).type)) {
    throw new ConnectError(
      "invalid_argument",
      `path ${path} is on a network file system, which may not report its changes; set allow_network_mounts to watch it anyway`,
    );
  }
}
