/** Metadata of files: extended attributes `user.e2b.<key>`, which Node cannot get at. */
import { StepChild } from "#envd/steps/step-child.ts";
import type { Step } from "#envd/steps/script.ts";

const prefix = "user.e2b.";
const headerPrefix = "x-metadata-";
const longestKey = 246;
const largestSet = 4096;
const listSize = 4096;
const valueSize = 4096;
/** So many files are asked about at once. */
const batch = 128;

export type Metadata = Readonly<Record<string, string>>;

export class MetadataError extends Error {
  override readonly name = "MetadataError";
}

/** What the headers of an upload say. Throws MetadataError. */
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

/** One helper process, started with the first question, answers all of them. */
export class MetadataStore {
  readonly #runner: string;
  #child: StepChild | undefined;

  constructor(runner: string) {
    this.#runner = runner;
  }

  async read(paths: readonly string[]): Promise<readonly Metadata[]> {
    const found: Metadata[] = [];
    for (let at = 0; at < paths.length; at += batch) found.push(...(await this.#readBatch(paths.slice(at, at + batch))));
    return found;
  }

  async #readBatch(paths: readonly string[]): Promise<readonly Metadata[]> {
    const names = await this.#list(paths);
    return Promise.all(paths.map((path, index) => this.#values(path, names[index] ?? [])));
  }

  async #list(paths: readonly string[]): Promise<readonly (readonly string[])[]> {
    const rooms = paths.map(() => ({ room: listSize }));
    const steps = paths.map((path, index): Step => ({ call: "llistxattr", args: [path, rooms[index] ?? 0, listSize], mayFail: true }));
    const reply = await this.#ask(steps);
    return rooms.map((room, index) => {
      const length = reply?.results[index] ?? 0;
      if (reply === undefined || length <= 0) return [];
      return reply
        .contents(room)
        .toString("utf8", 0, length)
        .split("\0")
        .filter((name) => name.startsWith(prefix));
    });
  }

  async #values(path: string, names: readonly string[]): Promise<Metadata> {
    if (names.length === 0) return {};
    const rooms = names.map(() => ({ room: valueSize }));
    const reply = await this.#ask(
      names.map((name, index): Step => ({ call: "lgetxattr", args: [path, name, rooms[index] ?? 0, valueSize], mayFail: true })),
    );
    const entries = names.flatMap((name, index): [string, string][] => {
      const room = rooms[index];
      const length = reply?.results[index] ?? -1;
      return reply === undefined || room === undefined || length < 0
        ? []
        : [[name.slice(prefix.length), reply.contents(room).toString("utf8", 0, length)]];
    });
    return Object.fromEntries(entries);
  }

  /** The file has this and nothing else. Throws MetadataError. */
  async replace(path: string, metadata: Metadata): Promise<void> {
    const [old = []] = await this.#list([path]);
    const dropped = old.filter((name) => !Object.hasOwn(metadata, name.slice(prefix.length)));
    const steps: Step[] = [
      ...dropped.map((name): Step => ({ call: "lremovexattr", args: [path, name], mayFail: true })),
      ...Object.entries(metadata).map(([key, value]): Step => ({
        call: "lsetxattr",
        args: [path, prefix + key, Buffer.from(value), Buffer.byteLength(value), 0],
      })),
    ];
    if (steps.length === 0) return;
    const reply = await this.#ask(steps);
    if (reply === undefined || reply.failed !== undefined) {
      throw new MetadataError(`the file system of ${path} does not keep metadata (error ${reply?.failed?.errno ?? 0})`);
    }
  }

  async #ask(steps: readonly Step[]): ReturnType<StepChild["run"]> {
    if (this.#child === undefined) {
      const child = new StepChild({ runner: this.#runner });
      this.#child = child;
      child.process.on("error", () => (this.#child = undefined));
      child.process.on("exit", () => (this.#child = undefined));
    }
    return this.#child.run(steps, true);
  }
}
