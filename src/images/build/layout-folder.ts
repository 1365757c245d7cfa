/** An OCI layout on disk: where images are built, and from where they are pushed. Other tools read it as it stands. */
import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BlobWriter } from "../content-store/blob-writer.ts";
import { type Digest, digestOf, hexOf, isDigest } from "../digest.ts";
import { ImageError } from "../image-error.ts";
import { blobName, indexFile, layoutFile } from "../import/image-files.ts";
import { refNameAnnotation } from "../import/oci-layout.ts";
import { type Descriptor, mediaTypes, parseManifest } from "../manifest.ts";

const readSize = 256 * 1024;
/** Not part of the layout, and of no interest to other tools: which blob an archive became when it was compressed. */
const compressedFolder = "compressed";

export class LayoutFolder {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async open(folder: string): Promise<LayoutFolder> {
    const layout = new LayoutFolder(folder);
    for (const name of ["blobs/sha256", compressedFolder]) await mkdir(join(folder, name), { recursive: true });
    await layout.#write(layoutFile, '{"imageLayoutVersion":"1.0.0"}');
    return layout;
  }

  /** For content that comes bit by bit. */
  write(): Promise<BlobWriter> {
    return BlobWriter.open(this.#draft(), (draft, digest) => rename(draft, join(this.folder, blobName(digest))));
  }

  async put(content: Buffer): Promise<Digest> {
    const digest = digestOf(content);
    await this.#write(blobName(digest), content);
    return digest;
  }

  /** A blob's content; the receiver checks it. */
  async *read(digest: Digest): AsyncGenerator<Buffer, void> {
    try {
      const content: AsyncIterable<Buffer> = createReadStream(join(this.folder, blobName(digest)), { highWaterMark: readSize });
      yield* content;
    } catch (error) {
      throw new ImageError("storage", `${digest} cannot be read from ${this.folder}: ${(error as Error).message}`, { cause: error });
    }
  }

  /** The blob that an archive with this digest was compressed to; undefined if none was, or it is gone. */
  async compressed(diffId: Digest): Promise<{ readonly digest: Digest; readonly size: number } | undefined> {
    const digest = await readFile(join(this.folder, compressedFolder, hexOf(diffId)), "utf8").catch(() => "");
    const found = isDigest(digest) ? await stat(join(this.folder, blobName(digest))).catch(() => undefined) : undefined;
    return found === undefined || !isDigest(digest) ? undefined : { digest, size: found.size };
  }

  rememberCompressed(diffId: Digest, digest: Digest): Promise<void> {
    return this.#write(join(compressedFolder, hexOf(diffId)), digest);
  }

  /** Gives an image a name, under which other tools find it in the layout; whatever had it before has none then. */
  async name(name: string, manifest: Descriptor): Promise<void> {
    const others = (await this.#named()).filter(({ annotations }) => annotations?.[refNameAnnotation] !== name);
    await this.#index([...others, { ...manifest, annotations: { [refNameAnnotation]: name } }]);
  }

  /** The image becomes the only one that has a name: what reads the whole layout finds no other. */
  nameOnly(name: string, manifest: Descriptor): Promise<void> {
    return this.#index([{ ...manifest, annotations: { [refNameAnnotation]: name } }]);
  }

  #index(manifests: readonly Descriptor[]): Promise<void> {
    return this.#write(indexFile, JSON.stringify({ schemaVersion: 2, mediaType: mediaTypes.index, manifests }));
  }

  async #named(): Promise<readonly Descriptor[]> {
    const text = await readFile(join(this.folder, indexFile)).catch(() => undefined);
    const index = text === undefined ? undefined : parseManifest(text, join(this.folder, indexFile));
    return index?.kind === "index" ? index.manifests : [];
  }

  /** Written in full or not at all, even if another process writes the same blob. */
  async #write(name: string, content: Buffer | string): Promise<void> {
    const draft = this.#draft();
    await writeFile(draft, content);
    await rename(draft, join(this.folder, name));
  }

  #draft(): string {
    return join(this.folder, `draft-${randomBytes(8).toString("hex")}`);
  }
}
