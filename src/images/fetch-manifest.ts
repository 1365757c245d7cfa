/** An image's manifest from a registry, through the index if there is one. */
import type { Digest } from "./digest.ts";
import { ImageError } from "./image-error.ts";
import { type Descriptor, type ImageIndex, type ImageManifest, maxManifestBytes, parseManifest } from "./manifest.ts";
import { formatReference, type RegistryReference } from "./reference.ts";
import type { RemoteRepository } from "./registry/remote-repository.ts";

export interface FetchedManifest {
  /** Of the index, if there is one. */
  readonly digest: Digest;
  readonly manifestDigest: Digest;
  readonly manifest: ImageManifest;
  /** As they came: the index, if there is one, and the manifest. */
  readonly contents: readonly Buffer[];
}

export interface ManifestWish {
  readonly reference: RegistryReference;
  /** Which of an index; `what` names the image in errors. */
  readonly choose: (index: ImageIndex, what: string) => Descriptor;
  readonly signal?: AbortSignal | undefined;
}

export async function fetchManifest(repository: RemoteRepository, { reference, choose, signal }: ManifestWish): Promise<FetchedManifest> {
  const what = formatReference(reference);
  const top = await repository.manifest(reference.digest ?? reference.tag ?? "latest", signal);
  const parsed = parseManifest(top.content, `the manifest of ${what}`, top.mediaType);
  if (parsed.kind === "manifest") return { digest: top.digest, manifestDigest: top.digest, manifest: parsed, contents: [top.content] };
  const chosen = choose(parsed, what);
  const inner = await repository.manifest(chosen.digest, signal);
  const manifest = parseManifest(inner.content, `the manifest ${chosen.digest} of ${what}`, inner.mediaType);
  if (manifest.kind === "index") throw new ImageError("unsupported", `${what} is an index of indexes, which we do not follow`);
  return { digest: top.digest, manifestDigest: chosen.digest, manifest, contents: [top.content, inner.content] };
}

/** Before it is fetched: a config is read as a whole. */
export function checkConfigSize({ digest, size }: Descriptor): void {
  if (size > maxManifestBytes)
    throw new ImageError("too_large", `the config ${digest} has ${size} bytes; at most ${maxManifestBytes} are read`);
}
