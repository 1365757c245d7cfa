/** Images in the older form of `docker save`: a list of configs and layers by file name. There is no manifest, so we make one. */
import { Type } from "typebox";
import type { ContentStore } from "../content-store/content-store.ts";
import { ImageError } from "../image-error.ts";
import { parseJsonAs } from "../json-shape.ts";
import { type Descriptor, type ImageManifest, mediaTypes, writeManifest } from "../manifest.ts";
import { dockerManifestFile, type FoundImage, type ImageFiles } from "./image-files.ts";

const listSchema = Type.Array(
  Type.Object({
    Config: Type.String(),
    RepoTags: Type.Optional(Type.Union([Type.Null(), Type.Array(Type.String())])),
    Layers: Type.Array(Type.String()),
  }),
);

/** Undefined if the archive is not of this form. */
export async function findDockerImages(store: ContentStore, files: ImageFiles): Promise<FoundImage[] | undefined> {
  const text = await files.read(dockerManifestFile);
  if (text === undefined) return undefined;
  const images: FoundImage[] = [];
  for (const { Config, RepoTags, Layers } of parseJsonAs(listSchema, text, dockerManifestFile)) {
    const config = await descriptor(files, Config, mediaTypes.config);
    const layers: Descriptor[] = [];
    // Their media type is for others to see; we look at the content.
    for (const name of Layers) layers.push(await descriptor(files, name, mediaTypes.layerTar));
    const manifest: ImageManifest = { kind: "manifest", config, layers };
    const digest = await store.blobs.put(writeManifest(config, layers));
    images.push({ digest, manifestDigest: digest, manifest, names: RepoTags ?? [] });
  }
  return images;
}

async function descriptor(files: ImageFiles, name: string, mediaType: string): Promise<Descriptor> {
  const stored = await files.store(name);
  if (stored === undefined)
    throw new ImageError("broken_content", `${dockerManifestFile} speaks of ${JSON.stringify(name)}, which is not in the archive`);
  return { mediaType, ...stored };
}
