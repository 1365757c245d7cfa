/**
 * The archives that clients send for COPY steps, by their hash, in the data folder. Each owner has its own: a hash of another team or user does not exist, and
 * none can put its files in place of another's. An archive is there whole or not at all. A team has so much room, and what was not used for longest goes first.
 */
import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { filesHashPattern } from "#builds/build-step.ts";
import { Limiter } from "#lib/limiter.ts";
import type { Clock } from "#lib/clock.ts";
import { ServiceError } from "#services/service-error.ts";

export interface UploadStoreOptions {
  readonly folder: string;
  readonly clock: Clock;
  /** Of one archive. */
  readonly maxBytes?: number;
  /** Of all archives of a team; it may change. */
  readonly teamBytes: (team: string) => number;
}

export interface UploadName {
  /** Empty: of no team, which is an admin's. */
  readonly team: string;
  /** Left out: the whole team's. */
  readonly user?: string | undefined;
  /** As the client says: it is not checked against the content. */
  readonly hash: string;
}

export interface Upload {
  readonly path: string;
  readonly bytes: number;
}

const usualMaxBytes = 2 * 1024 ** 3;
/** Uploads of one team. */
const atOnce = 4;
const partSuffix = ".part";
const keptMs = 7 * 24 * 3_600_000;

export class UploadStore {
  readonly #options: UploadStoreOptions;
  readonly #turns = new Map<string, Limiter>();

  constructor(options: UploadStoreOptions) {
    this.#options = options;
  }

  get maxBytes(): number {
    return this.#options.maxBytes ?? usualMaxBytes;
  }

  async find(name: UploadName): Promise<Upload | undefined> {
    const path = this.#path(name);
    const found = await stat(path).catch(absent);
    return found && { path, bytes: found.size };
  }

  /** Also says that it is in use, so that it stays longer than others. */
  async use(name: UploadName): Promise<Upload | undefined> {
    const found = await this.find(name);
    const now = new Date(this.#options.clock.now());
    if (found !== undefined) await utimes(found.path, now, now).catch(absent);
    return found;
  }

  /** Throws too_large; nothing is left of what was cut short. Of one team only so many are written at a time, because what is not yet whole counts for no limit. */
  async put(name: UploadName, content: AsyncIterable<Buffer>, signal: AbortSignal): Promise<void> {
    let turns = this.#turns.get(name.team);
    if (turns === undefined) this.#turns.set(name.team, (turns = new Limiter(atOnce)));
    await turns.run(() => this.#put(name, content, signal));
  }

  async #put(name: UploadName, content: AsyncIterable<Buffer>, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const path = this.#path(name);
    const folder = this.#teamFolder(name.team);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const part = join(folder, `${randomUUID()}${partSuffix}`);
    try {
      await pipeline(content, this.#counted(), createWriteStream(part, { mode: 0o600, flags: "wx" }), { signal });
      await this.#makeRoom(name, (await stat(part)).size);
      await synced(part);
      await rename(part, path);
    } catch (error) {
      await rm(part, { force: true });
      throw asRefusal(error);
    }
  }

  read({ path }: Upload): AsyncIterable<Buffer> {
    return createReadStream(path, { highWaterMark: 1024 * 1024 });
  }

  /** Removes what an ended process left, and what was not used for long. */
  async sweep(): Promise<void> {
    const now = this.#options.clock.now();
    for (const team of await readdir(this.#options.folder).catch(() => [])) {
      const folder = join(this.#options.folder, team);
      for (const { path, mtimeMs, isPart } of await this.#archives(folder)) {
        if (now - mtimeMs > (isPart ? longestUploadMs : keptMs)) await rm(path, { force: true });
      }
    }
  }

  #counted(): Transform {
    const { maxBytes } = this;
    let bytes = 0;
    return new Transform({
      transform(chunk: Buffer, _, done) {
        bytes += chunk.length;
        if (bytes <= maxBytes) done(null, chunk);
        else done(new ServiceError("too_large", `the files of one COPY may have at most ${maxBytes} bytes`));
      },
    });
  }

  async #makeRoom(name: UploadName, bytes: number): Promise<void> {
    const { team } = name;
    const limit = this.#options.teamBytes(team);
    if (bytes > limit) {
      throw new ServiceError(
        "limit_reached",
        `these files have ${bytes} bytes, and all that the team may keep for builds is ${limit} (limit buildFilesMiB)`,
      );
    }
    const others = (await this.#archives(this.#teamFolder(team))).filter(({ path, isPart }) => !isPart && path !== this.#path(name));
    let used = others.reduce((sum, one) => sum + one.bytes, bytes);
    for (const oldest of others.toSorted((left, right) => left.mtimeMs - right.mtimeMs)) {
      if (used <= limit) return;
      await rm(oldest.path, { force: true });
      used -= oldest.bytes;
    }
  }

  async #archives(folder: string) {
    const names = await readdir(folder).catch(() => []);
    const found = await Promise.all(
      names.map(async (name) => {
        const path = join(folder, name);
        const entry = await stat(path).catch(absent);
        return entry === undefined ? [] : [{ path, bytes: entry.size, mtimeMs: entry.mtimeMs, isPart: name.endsWith(partSuffix) }];
      }),
    );
    return found.flat();
  }

  /** By hash: names of teams are no names of folders. */
  #teamFolder(team: string): string {
    return join(this.#options.folder, hashOf(team));
  }

  #path({ team, user, hash }: UploadName): string {
    if (!filesHashPattern.test(hash)) {
      throw new ServiceError("invalid_request", "the hash must have 64 lower-case hexadecimal digits", { field: "hash" });
    }
    const owner = user === undefined ? "" : `${hashOf(user)}-`;
    return join(this.#teamFolder(team), `${owner}${hash}.tar`);
  }
}

function hashOf(name: string): string {
  return createHash("sha256").update(name).digest("hex").slice(0, 32);
}

/** An upload that takes longer has been left. */
const longestUploadMs = 2 * 3_600_000;

function asRefusal(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== "ENOSPC") return error;
  return new ServiceError("unavailable", "the disk of this server is full, so files for builds cannot be kept now", { cause: error });
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ENOENT") return undefined;
  throw error;
}

async function synced(path: string): Promise<void> {
  await using file = await open(path, "r");
  await file.sync();
}
