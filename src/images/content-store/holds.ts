/**
 * What others have in use, written down: a node agent that is not running still has containers, and a garbage collection
 * started by hand must know about them. Each owner keeps one list and replaces it as a whole.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Type } from "typebox";
import { type Digest, parseDigest } from "../digest.ts";
import { parseJsonAs } from "../json-shape.ts";
import type { Scratch } from "./scratch.ts";

const holdSchema = Type.Array(Type.String());

export class Holds {
  readonly #folder: string;
  readonly #scratch: Scratch;

  constructor(folder: string, scratch: Scratch) {
    this.#folder = folder;
    this.#scratch = scratch;
  }

  /** From now on `owner` (a plain word) uses exactly these images, by digest or id. */
  async set(owner: string, digests: Iterable<Digest>): Promise<void> {
    const held = [...new Set(digests)];
    const path = join(this.#folder, `${owner}.json`);
    if (held.length === 0) await this.#scratch.remove(path);
    else await this.#scratch.writeFile(path, JSON.stringify(held.sort()));
  }

  /** All images that any process holds. */
  async all(): Promise<Set<Digest>> {
    const held = new Set<Digest>();
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      const text = await readFile(path).catch(() => undefined);
      if (text === undefined) continue;
      for (const digest of parseJsonAs(holdSchema, text, path)) held.add(parseDigest(digest, path));
    }
    return held;
  }
}
