/** The files of an image archive or layout, by name (small ones as text, large ones as blobs of the store), and the images among them. */
import type { Digest } from "../digest.ts";
import type { ImageManifest } from "../manifest.ts";

export interface StoredFile {
  readonly digest: Digest;
  readonly size: number;
}

export interface ImageFiles {
  /** A small file's content; undefined if there is no such file. */
  read(name: string): Promise<Buffer | undefined>;
  /** Brings a file into the store, if it is not there yet; undefined if there is no such file. */
  store(name: string): Promise<StoredFile | undefined>;
}

/** An image among the files. */
export interface FoundImage {
  /** Of its index, if it has one. */
  readonly digest: Digest;
  readonly manifestDigest: Digest;
  readonly manifest: ImageManifest;
  /** Full names, possibly none. */
  readonly names: readonly string[];
  /** A tag that still wants a name before it. */
  readonly tag?: string;
  /** The file with a blob that is not in the store yet. */
  readonly fileOf?: (digest: Digest) => string;
}

/** Where both OCI's layout and the newer form of `docker save` keep content. */
export function blobName(digest: Digest): string {
  return `blobs/${digest.replace(":", "/")}`;
}

/** The digest that a file of this name must have; undefined if its name promises none. */
export function promisedDigest(name: string): Digest | undefined {
  const hex = /^blobs\/sha256\/([0-9a-f]{64})$/.exec(name)?.[1];
  return hex === undefined ? undefined : `sha256:${hex}`;
}

/** The text files at the top that tell what an archive is. */
export const indexFile = "index.json";
export const layoutFile = "oci-layout";
export const dockerManifestFile = "manifest.json";
