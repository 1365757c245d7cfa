/** Metadata of files: extended attributes `user.e2b.<key>`, which Node cannot access. */
import { getSystemErrorMessage } from "node:util";
import { HelperChild } from "#envd/helper/helper-child.ts";
import { FrameFields, frameOf } from "#envd/helper/helper-frames.ts";

const prefix = "user.e2b.";
const headerPrefix = "x-metadata-";
const longestKey = 246;
const largestSet = 4096;
/** Operation numbers of attributes.c. */
const [readThem, replaceThem] = [0, 1];
/** Number of files read at once. */
const batch = 128;

export type Metadata = Readonly<Record<string, string>>;

export class MetadataError extends Error {
  override readonly name = "MetadataError";
}

/** Metadata from the headers of an upload. Throws MetadataError. */
export function metadataOf(rawHeaders: readonly string[]): Metadata {
  const found: Record<string, string> = {};
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? "").toLowerCase();
    if (!name.startsWith(headerPrefix)) continue;
    const key = name.slice(headerPrefix.length);
    const value = rawHeaders[index + 1] ?? "";
    if (key === "" || key.length > longestKey) throw new MetadataError(`a metadata key must have 1 to ${longestKey} bytes`);
    if (!/^[\x20-\x7e]*$/.test(value)) throw new MetadataError(`the metadata ${key} must be printable ASCII`);
    found[key] = value;
  }
  const size = Object.entries(found).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  if (size > largestSet) throw new MetadataError(`the metadata has ${size} bytes; at most ${largestSet} are taken`);
  return found;
}

/** One helper process, started at the first request, serves all of them. */
export class MetadataStore {
  readonly #helper: string;
  #child: HelperChild | undefined;

  constructor(helper: string) {
    this.#helper = helper;
  }

  async read(paths: readonly string[]): Promise<readonly Metadata[]> {
    const found: Metadata[] = [];
    for (let at = 0; at < paths.length; at += batch) {
      found.push(...(await Promise.all(paths.slice(at, at + batch).map((path) => this.#readOne(path)))));
    }
    return found;
  }

  async #readOne(path: string): Promise<Metadata> {
    const answer = await this.#running().ask(frameOf([readThem, path]));
    if (answer === undefined) return {};
    const fields = new FrameFields(answer);
    return Object.fromEntries(Array.from({ length: fields.number() }, () => [fields.text(), fields.sizedText()] as const));
  }

  /** Replaces all metadata of the file. Throws MetadataError. */
  async replace(path: string, metadata: Metadata): Promise<void> {
    const entries = Object.entries(metadata).flatMap(([key, value]) => [prefix + key, value]);
    const answer = await this.#running().ask(frameOf([replaceThem, path, ...entries]));
    const error = answer === undefined ? undefined : new FrameFields(answer).number();
    if (error === 0) return;
    const reason = error === undefined ? "its helper ended" : getSystemErrorMessage(-error);
    throw new MetadataError(`the file system of ${path} does not keep metadata: ${reason}`);
  }

  #running(): HelperChild {
    if (this.#child === undefined) {
      const child = new HelperChild({ helper: this.#helper, verb: "attributes" });
      this.#child = child;
      child.process.on("error", () => (this.#child = undefined));
      child.process.on("exit", () => (this.#child = undefined));
    }
    return this.#child;
  }
}
