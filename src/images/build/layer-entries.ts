/**
 * A layer of our own as a list of what is in it. The archive depends on the list and the files' contents alone: names are
 * sorted, everything belongs to root and has one time, and permissions are those of the list. So the same list gives the
 * same digest on every machine and on every day.
 */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { ImageError } from "../image-error.ts";
import { inPieces } from "../layer/archive-pieces.ts";
import { fileContent } from "../layer/file-content.ts";
import { latin1Of, layerPath, parentPath, printable } from "../layer/layer-path.ts";
import { tarEnd, tarHeader, tarPadding } from "../layer/tar-writer.ts";
import type { TarType } from "../layer/tar-header.ts";

/** Paths begin at the layer's root, without a slash. Folders that are not named are made. */
export type LayerEntry =
  | { readonly kind: "folder"; readonly path: string; readonly mode?: number }
  /** Content as it is, or the path of a file of this machine that has it. */
  | { readonly kind: "file"; readonly path: string; readonly content: Buffer | string; readonly executable?: boolean }
  | { readonly kind: "symlink"; readonly path: string; readonly target: string };

/** 2020-01-01: some tools warn about times near 1970. */
const layerTime = 1_577_836_800;
const folderMode = 0o755;
const noAttributes: ReadonlyMap<string, Buffer> = new Map();

export function packEntries(entries: readonly LayerEntry[]): AsyncGenerator<Buffer, void> {
  return inPieces(packAll(withFolders(entries)));
}

/** The files and folders below a folder of this machine, to stand at `path` in the layer. Links become what they point to. */
export async function entriesBelow(
  folder: string,
  path: string,
  wants: (name: string, isFolder: boolean) => boolean = () => true,
): Promise<LayerEntry[]> {
  const entries: LayerEntry[] = [];
  for (const name of await readdir(folder)) {
    const place = join(folder, name);
    const found = await stat(place);
    const inside = join(path, name);
    if (!wants(name, found.isDirectory())) continue;
    if (found.isDirectory()) entries.push({ kind: "folder", path: inside }, ...(await entriesBelow(place, inside, wants)));
    else entries.push({ kind: "file", path: inside, content: place, executable: (found.mode & 0o111) !== 0 });
  }
  return entries;
}

/** Every entry under its name in the archive, folders before what is in them. */
function withFolders(entries: readonly LayerEntry[]): [name: string, LayerEntry][] {
  const named = new Map<string, LayerEntry>();
  for (const entry of entries) {
    const name = layerPath(latin1Of(entry.path)).join("/");
    const before = named.get(name);
    if (name === "" || (before !== undefined && (before.kind !== "folder" || entry.kind !== "folder"))) {
      throw new ImageError("broken_content", `${printable(name)} cannot be in a layer twice, nor be its root`);
    }
    if (before === undefined || (entry.kind === "folder" && entry.mode !== undefined)) named.set(name, entry);
  }
  for (const name of named.keys()) addParents(named, name);
  return [...named].sort(([a], [b]) => (a < b ? -1 : 1));
}

function addParents(named: Map<string, LayerEntry>, name: string): void {
  for (let parent = parentPath(name); parent !== ""; parent = parentPath(parent)) {
    const found = named.get(parent);
    if (found === undefined) named.set(parent, { kind: "folder", path: parent });
    else if (found.kind !== "folder") throw new ImageError("broken_content", `${printable(parent)} is to be a ${found.kind} and a folder`);
  }
}

async function* packAll(entries: readonly [name: string, LayerEntry][]): AsyncGenerator<Buffer, void> {
  for (const [name, entry] of entries) {
    if (entry.kind === "folder") yield header({ name: `${name}/`, type: "directory", mode: entry.mode ?? folderMode });
    else if (entry.kind === "symlink") yield header({ name, type: "symlink", mode: 0o777, linkName: latin1Of(entry.target) });
    else yield* packFile(name, entry);
  }
  yield tarEnd;
}

async function* packFile(name: string, entry: LayerEntry & { kind: "file" }): AsyncGenerator<Buffer, void> {
  const { content } = entry;
  const mode = entry.executable === true ? 0o755 : 0o644;
  const size = typeof content === "string" ? (await stat(content)).size : content.length;
  yield header({ name, type: "file", mode, size });
  if (typeof content === "string") {
    yield* fileContent(Buffer.from(content), name, size);
    return;
  }
  yield content;
  yield tarPadding(size);
}

interface Described {
  readonly name: string;
  readonly type: TarType;
  readonly mode: number;
  readonly linkName?: string;
  readonly size?: number;
}

function header(described: Described): Buffer {
  const same = { linkName: "", size: 0, uid: 0, gid: 0, mtime: layerTime, devMajor: 0, devMinor: 0, xattrs: noAttributes };
  return tarHeader({ ...same, ...described });
}
