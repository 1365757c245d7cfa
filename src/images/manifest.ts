/** Manifests and indexes, in the forms of OCI and of Docker, which differ in their media types only. */
import { type Static, Type } from "typebox";
import { type Digest, parseDigest } from "./digest.ts";
import { ImageError } from "./image-error.ts";
import { parseJsonAs } from "./json-shape.ts";
import { choosePlatform, formatPlatform, type Platform } from "./platform.ts";

export const mediaTypes = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layerTar: "application/vnd.oci.image.layer.v1.tar",
  layerGzip: "application/vnd.oci.image.layer.v1.tar+gzip",
  layerZstd: "application/vnd.oci.image.layer.v1.tar+zstd",
  dockerList: "application/vnd.docker.distribution.manifest.list.v2+json",
  dockerManifest: "application/vnd.docker.distribution.manifest.v2+json",
} as const;

/** What we ask registries for, best first. */
export const acceptedManifests: readonly string[] = [
  mediaTypes.index,
  mediaTypes.manifest,
  mediaTypes.dockerList,
  mediaTypes.dockerManifest,
];

/** Larger ones are attacks or mistakes; registries set the same bound. */
export const maxManifestBytes = 4 * 1024 * 1024;
/** More than overlayfs takes lower directories. */
const maxLayers = 500;

export interface Descriptor {
  readonly mediaType: string;
  readonly digest: Digest;
  readonly size: number;
  readonly platform?: Platform;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface ImageManifest {
  readonly kind: "manifest";
  readonly config: Descriptor;
  /** Lowest first. */
  readonly layers: readonly Descriptor[];
}

export interface ImageIndex {
  readonly kind: "index";
  readonly manifests: readonly Descriptor[];
}

const descriptorSchema = Type.Object({
  mediaType: Type.String(),
  digest: Type.String(),
  size: Type.Integer({ minimum: 0 }),
  urls: Type.Optional(Type.Array(Type.String())),
  platform: Type.Optional(Type.Object({ os: Type.String(), architecture: Type.String(), variant: Type.Optional(Type.String()) })),
  annotations: Type.Optional(Type.Union([Type.Null(), Type.Record(Type.String(), Type.String())])),
});

const manifestSchema = Type.Object({
  schemaVersion: Type.Integer(),
  mediaType: Type.Optional(Type.String()),
  config: Type.Optional(descriptorSchema),
  layers: Type.Optional(Type.Array(descriptorSchema, { maxItems: maxLayers })),
  manifests: Type.Optional(Type.Array(descriptorSchema)),
  fsLayers: Type.Optional(Type.Unknown()),
});

/** Reads a manifest or an index. `what` names it in errors; `contentType` is the registry's word, used if the text says nothing. */
export function parseManifest(text: Buffer, what: string, contentType?: string): ImageManifest | ImageIndex {
  const json = parseJsonAs(manifestSchema, text, what);
  if (json.schemaVersion === 1 || json.fsLayers !== undefined) {
    throw new ImageError(
      "unsupported",
      `${what} is in Docker's schema 1, which has been withdrawn; push the image again with a current tool`,
    );
  }
  // A text that is both could be read as a manifest here and as an index by a scanner that checked it before, or the other way round.
  if (json.manifests !== undefined && (json.layers !== undefined || json.config !== undefined)) {
    throw new ImageError("broken_content", `${what} is a manifest and an index at once`);
  }
  const mediaType = json.mediaType ?? contentType?.split(";")[0]?.trim();
  const isIndex = json.manifests !== undefined;
  checkMediaType(mediaType, isIndex, what);
  if (json.manifests !== undefined) return { kind: "index", manifests: json.manifests.map((item) => descriptor(item, what)) };
  if (json.config === undefined || json.layers === undefined) {
    throw new ImageError("broken_content", `${what} has neither manifests nor config and layers`);
  }
  return { kind: "manifest", config: descriptor(json.config, what), layers: json.layers.map((item) => layerDescriptor(item, what)) };
}

/** The one manifest of an index that is for this platform. */
export function manifestFor(index: ImageIndex, platform: Platform, what: string): Descriptor {
  const chosen = choosePlatform(index.manifests, platform);
  if (chosen !== undefined) return chosen;
  const [only] = index.manifests;
  // An image that is built for one platform often does not name it.
  if (only !== undefined && index.manifests.length === 1 && only.platform === undefined) return only;
  const offered = index.manifests.flatMap((item) =>
    item.platform === undefined || item.platform.os === "unknown" ? [] : [formatPlatform(item.platform)],
  );
  throw new ImageError(
    "no_platform",
    `${what} is not there for ${formatPlatform(platform)}, only for ${offered.join(", ") || "no platform at all"}`,
  );
}

/** The text of a manifest that we make ourselves. */
export function writeManifest(config: Descriptor, layers: readonly Descriptor[], annotations?: Readonly<Record<string, string>>): Buffer {
  const noted = annotations === undefined ? {} : { annotations };
  return Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: mediaTypes.manifest, config, layers, ...noted }));
}

function checkMediaType(mediaType: string | undefined, isIndex: boolean, what: string): void {
  if (mediaType === undefined || mediaType === "" || mediaType === "application/json") return;
  const expected: readonly string[] = isIndex
    ? [mediaTypes.index, mediaTypes.dockerList]
    : [mediaTypes.manifest, mediaTypes.dockerManifest];
  if (expected.includes(mediaType)) return;
  throw new ImageError("unsupported", `${what} is of type ${mediaType}; we read ${acceptedManifests.join(", ")}`);
}

function layerDescriptor(json: Static<typeof descriptorSchema>, what: string): Descriptor {
  if (/nondistributable|foreign/.test(json.mediaType) || (json.urls ?? []).length > 0) {
    throw new ImageError(
      "unsupported",
      `${what} has a layer that is fetched from elsewhere (${json.mediaType}); we fetch from registries only`,
    );
  }
  if (!/^application\/vnd\.(?:oci\.image\.layer\.v1\.tar|docker\.image\.rootfs\.diff\.tar)(?:[.+](?:gzip|zstd))?$/.test(json.mediaType)) {
    throw new ImageError(
      "unsupported",
      `${what} has a layer of type ${json.mediaType}; we read tar, plain or compressed with gzip or zstd`,
    );
  }
  return descriptor(json, what);
}

function descriptor(json: Static<typeof descriptorSchema>, what: string): Descriptor {
  const { mediaType, digest, size, platform, annotations } = json;
  return {
    mediaType,
    digest: parseDigest(digest, `a digest in ${what}`),
    size,
    ...(platform === undefined ? {} : { platform: cleanPlatform(platform) }),
    ...(annotations === undefined || annotations === null ? {} : { annotations }),
  };
}

/** Only what we compare: an empty variant is none. */
function cleanPlatform({ os, architecture, variant }: { os: string; architecture: string; variant?: string }): Platform {
  return { os, architecture, ...(variant === undefined || variant === "" ? {} : { variant }) };
}
