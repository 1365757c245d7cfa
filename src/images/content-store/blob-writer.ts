import { type FileHandle, open, rm } from "node:fs/promises";
import { type Digest, Digester } from "../digest.ts";
import { ImageError } from "../image-error.ts";
import type { RoomWatch } from "../layer/disk-room.ts";

/** Gives a blob that is whole its place. */
type Place = (path: string, digest: Digest) => Promise<void>;

/** A blob in the making: counts and hashes what is written, and gives it its place only if that is what was promised. */
export class BlobWriter implements AsyncDisposable {
  readonly #path: string;
  readonly #place: Place;
  readonly #file: FileHandle;
  readonly #room: RoomWatch | undefined;
  #digester = new Digester();
  #written = 0;
  #done = false;

  private constructor(path: string, file: FileHandle, place: Place, room: RoomWatch | undefined) {
    this.#path = path;
    this.#file = file;
    this.#place = place;
    this.#room = room;
  }

  /** `room`: of the disk that it is on, if that may not be filled. */
  static async open(path: string, place: Place, room?: RoomWatch): Promise<BlobWriter> {
    return new BlobWriter(path, await open(path, "wx", 0o600), place, room);
  }

  /** Bytes so far: where a broken transfer goes on. */
  get written(): number {
    return this.#written;
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#room?.take({ bytes: chunk.length });
    for (let at = 0; at < chunk.length;) {
      at += (await this.#file.write(chunk, at, chunk.length - at, this.#written + at)).bytesWritten;
    }
    this.#digester.update(chunk);
    this.#written += chunk.length;
  }

  /** Forgets what was written, to begin again. */
  async reset(): Promise<void> {
    await this.#file.truncate(0);
    this.#digester = new Digester();
    this.#written = 0;
  }

  /** Puts the blob in its place. With a promised digest, only if it has that. */
  async commit(promised?: Digest): Promise<Digest> {
    const digest = this.#digester.digest();
    if (promised !== undefined && digest !== promised) {
      throw new ImageError("digest_mismatch", `what came as ${promised} is ${digest}: damaged on its way, or tampered with`);
    }
    await this.#place(this.#path, digest);
    this.#done = true;
    return digest;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
    if (!this.#done) await rm(this.#path, { force: true });
  }
}
