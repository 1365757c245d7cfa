/** Packs the files of a COPY into an archive. Its hash covers names, modes and contents, so that the same files need not be sent twice. */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, openAsBlob } from "node:fs";
import { readFile } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { type Headers, pack as newPack, type Pack } from "tar-stream";
import type { ContextFile } from "./context-files.ts";

/** A file that stands in the Dockerfile itself. */
export interface OwnFile {
  readonly name: string;
  readonly content: string;
}

export type Packed = ContextFile | OwnFile;

const form = "agentbox-context-v1";

export async function hashOf(files: readonly Packed[]): Promise<string> {
  const hash = createHash("sha256").update(form);
  for (const file of files) {
    if ("content" in file) hash.update(JSON.stringify([file.name, "own", file.content]));
    else {
      hash.update(JSON.stringify([file.name, file.kind, file.mode, file.size, file.target ?? null]));
      if (file.kind === "file") for await (const chunk of createReadStream(file.path)) hash.update(chunk as Buffer);
    }
  }
  return hash.digest("hex");
}

/** Written to `path`, so that it need not fit into memory. */
export async function archiveOf(files: readonly Packed[], path: string): Promise<Blob> {
  const pack = newPack();
  const written = pipeline(pack, createGzip({ level: 1 }), createWriteStream(path, { mode: 0o600 }));
  await Promise.all([written, packAll(pack, files)]);
  return await openAsBlob(path);
}

async function packAll(pack: Pack, files: readonly Packed[]): Promise<void> {
  for (const file of files) {
    if ("content" in file) await entry(pack, { name: file.name, mode: 0o644 }, Buffer.from(file.content));
    else await packOne(pack, file);
  }
  pack.finalize();
}

async function packOne(pack: Pack, { kind, name, path, mode, target = "" }: ContextFile): Promise<void> {
  const header = { name, mode, uid: 0, gid: 0 };
  if (kind === "folder") await entry(pack, { ...header, name: `${name}/`, type: "directory" }, Buffer.alloc(0));
  else if (kind === "link") await entry(pack, { ...header, type: "symlink", linkname: target }, Buffer.alloc(0));
  else await entry(pack, header, await readFile(path));
}

function entry(pack: Pack, header: Headers, content: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    pack.entry({ ...header, size: content.length }, content, (error) => (error ? reject(error) : resolve()));
  });
}
