/** Images in an OCI layout: an index whose entries carry the images' names as annotations. */
import { ImageError } from "../image-error.ts";
import { type Descriptor, type ImageIndex, type ImageManifest, manifestFor, mediaTypes, parseManifest } from "../manifest.ts";
import type { Platform } from "../platform.ts";
import { blobName, type FoundImage, type ImageFiles, indexFile } from "./image-files.ts";

const fullNameAnnotation = "io.containerd.image.name";
export const refNameAnnotation = "org.opencontainers.image.ref.name";

/** Undefined if this is no OCI layout. */
export async function findOciImages(files: ImageFiles, readBlob: ReadBlob, platform: Platform): Promise<FoundImage[] | undefined> {
  const text = await files.read(indexFile);
  if (text === undefined) return undefined;
  const index = parseManifest(text, indexFile);
  if (index.kind !== "index") throw new ImageError("broken_content", `${indexFile} is a manifest, not an index`);
  const images: FoundImage[] = [];
  for (const entry of topImages(index, platform)) {
    const { descriptor, manifest } = await follow(entry, readBlob, platform);
    images.push({ digest: entry.digest, manifestDigest: descriptor.digest, manifest, ...namesOf(entry), fileOf: blobName });
  }
  return images;
}

export type ReadBlob = (name: string) => Promise<Buffer>;

/** Each entry is an image of its own, unless they are one image for several platforms: those have no names, or all the same. */
function topImages(index: ImageIndex, platform: Platform): readonly Descriptor[] {
  const names = new Set(index.manifests.map(({ annotations }) => annotations?.[refNameAnnotation]));
  const oneImage = index.manifests.length > 1 && names.size === 1 && index.manifests.every((entry) => entry.platform !== undefined);
  return oneImage ? [manifestFor(index, platform, indexFile)] : index.manifests;
}

async function follow(
  entry: Descriptor,
  readBlob: ReadBlob,
  platform: Platform,
): Promise<{ descriptor: Descriptor; manifest: ImageManifest }> {
  const parsed = parseManifest(await readBlob(blobName(entry.digest)), `the manifest ${entry.digest}`, entry.mediaType);
  if (parsed.kind === "manifest") return { descriptor: entry, manifest: parsed };
  if (entry.mediaType === mediaTypes.manifest) throw new ImageError("broken_content", `${entry.digest} is an index, not a manifest`);
  const chosen = manifestFor(parsed, platform, `the image ${entry.digest}`);
  const manifest = parseManifest(await readBlob(blobName(chosen.digest)), `the manifest ${chosen.digest}`, chosen.mediaType);
  if (manifest.kind === "index") throw new ImageError("unsupported", `${entry.digest} is an index of indexes, which we do not follow`);
  return { descriptor: chosen, manifest };
}

/** A full name, or only a tag: tools differ in what they write. */
function namesOf({ annotations = {} }: Descriptor): Pick<FoundImage, "names" | "tag"> {
  const full = annotations[fullNameAnnotation];
  const ref = annotations[refNameAnnotation];
  if (full !== undefined) return { names: [full] };
  if (ref === undefined) return { names: [] };
  return /[/:]/.test(ref) ? { names: [ref] } : { names: [], tag: ref };
}
