/** The files of a tar archive. It is read once, from beginning to end, so it may come through a pipe. */
import { posix } from "node:path";
import type { ContentStore } from "../content-store/content-store.ts";
import { ImageError } from "../image-error.ts";
import { decompress } from "../layer/decompress.ts";
import { TarReader } from "../layer/tar-reader.ts";
import { maxManifestBytes } from "../manifest.ts";
import { dockerManifestFile, type ImageFiles, indexFile, layoutFile, promisedDigest, type StoredFile } from "./image-files.ts";

const texts: ReadonlySet<string> = new Set([indexFile, layoutFile, dockerManifestFile]);
/** Leftovers of older forms of `docker save` that nothing refers to. */
const useless = /(?:^|\/)(?:json|VERSION|repositories)$/;

/** Puts everything of use in the archive into the store. Its name in the archive leads to it. */
export async function readArchive(store: ContentStore, archive: AsyncIterable<Buffer>): Promise<ImageFiles> {
  const found = new FoundFiles();
  const content = decompress(archive, store.limits);
  const tar = new TarReader(content);
  try {
    for (let entry = await tar.next(); entry !== undefined; entry = await tar.next()) {
      const name = posix.normalize(Buffer.from(entry.name, "latin1").toString());
      if (entry.type === "symlink" || entry.type === "link") {
        // Layers that an image has twice.
        const target = Buffer.from(entry.linkName, "latin1").toString();
        found.links.set(name, entry.type === "link" ? posix.normalize(target) : posix.join(posix.dirname(name), target));
      } else if (entry.type === "file" && texts.has(name)) found.texts.set(name, await readText(tar, name));
      else if (entry.type === "file" && !useless.test(name)) found.blobs.set(name, await storeFile(store, tar, name));
    }
  } finally {
    await content.return();
  }
  return found;
}

class FoundFiles implements ImageFiles {
  readonly texts = new Map<string, Buffer>();
  readonly blobs = new Map<string, StoredFile>();
  readonly links = new Map<string, string>();

  read(name: string): Promise<Buffer | undefined> {
    return Promise.resolve(this.texts.get(name));
  }

  store(name: string): Promise<StoredFile | undefined> {
    return Promise.resolve(this.blobs.get(name) ?? this.blobs.get(this.links.get(name) ?? ""));
  }
}

async function readText(tar: TarReader, name: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for (let chunk = await tar.read(); chunk !== undefined; chunk = await tar.read()) {
    length += chunk.length;
    if (length > maxManifestBytes) throw new ImageError("too_large", `${name} in the archive is larger than ${maxManifestBytes} bytes`);
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks);
}

async function storeFile(store: ContentStore, tar: TarReader, name: string): Promise<StoredFile> {
  await using writer = await store.blobs.write();
  for (let chunk = await tar.read(); chunk !== undefined; chunk = await tar.read()) await writer.write(chunk);
  return { digest: await writer.commit(promisedDigest(name)), size: writer.written };
}
