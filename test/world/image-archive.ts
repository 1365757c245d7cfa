/** Images as files: OCI layouts, and both forms of `docker save`. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { hexOf } from "#images/digest.ts";
import { mediaTypes } from "#images/manifest.ts";
import { type ImageFixture, indexOf } from "./image-fixture.ts";
import type { EntrySpec } from "./layer-archive.ts";

/** File names and what is in them. */
export type Files = Readonly<Record<string, Buffer>>;

export interface NamedImage {
  readonly image: ImageFixture;
  readonly annotations?: Readonly<Record<string, string>>;
}

function blobs(image: ImageFixture): Files {
  const all = [
    { digest: image.digest, blob: image.manifest },
    { digest: image.id, blob: image.config },
    ...image.layers.map(({ digest, blob }) => ({ digest, blob })),
  ];
  return Object.fromEntries(all.map(({ digest, blob }) => [`blobs/sha256/${hexOf(digest)}`, blob]));
}

/** An OCI layout with an entry for each image. */
export function ociLayout(images: readonly NamedImage[]): Files {
  const manifests = images.map(({ image, annotations }) => ({
    mediaType: mediaTypes.manifest,
    digest: image.digest,
    size: image.manifest.length,
    ...(annotations === undefined ? {} : { annotations }),
  }));
  return {
    "oci-layout": Buffer.from('{"imageLayoutVersion":"1.0.0"}'),
    "index.json": Buffer.from(JSON.stringify({ schemaVersion: 2, manifests })),
    ...Object.assign({}, ...images.map(({ image }) => blobs(image))),
  };
}

/** An OCI layout of one image for several platforms, without a name. */
export function platformLayout(images: readonly ImageFixture[]): Files {
  return { ...ociLayout(images.map((image) => ({ image }))), "index.json": indexOf(images) };
}

/** What older versions of `docker save` write. Layers that come twice are links, as Docker does it. */
export function dockerSave(
  images: readonly { readonly image: ImageFixture; readonly tags: readonly string[] | null; readonly tars: readonly Buffer[] }[],
): EntrySpec[] {
  const entries: EntrySpec[] = [];
  const first = new Map<string, string>();
  const list = images.map(({ image, tags, tars }, index) => {
    entries.push({ name: `${hexOf(image.id)}.json`, content: image.config });
    const layers = tars.map((tar, layer) => {
      const name = `${index}${layer}/layer.tar`;
      const diffId = image.layers[layer]?.diffId ?? "";
      const seen = first.get(diffId);
      entries.push(
        { name: `${index}${layer}/` },
        { name: `${index}${layer}/VERSION`, content: "1.0" },
        { name: `${index}${layer}/json`, content: "{}" },
      );
      entries.push(seen === undefined ? { name, content: tar } : { name, type: "symlink", linkName: `../${seen}` });
      first.set(diffId, seen ?? name);
      return name;
    });
    return { Config: `${hexOf(image.id)}.json`, RepoTags: tags, Layers: layers };
  });
  return [...entries, { name: "manifest.json", content: JSON.stringify(list) }, { name: "repositories", content: "{}" }];
}

export function asEntries(files: Files): EntrySpec[] {
  return Object.entries(files).map(([name, content]) => ({ name, content }));
}

export function writeFiles(folder: string, files: Files): string {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}
