/** Puts an image that was built here into a registry: blobs that are not there, then the manifest under its tag. */
import { ChildAbort } from "#lib/abortable.ts";
import { Limiter } from "#lib/limiter.ts";
import { ImageError } from "../image-error.ts";
import type { Descriptor } from "../manifest.ts";
import { formatReference, type RegistryReference } from "../reference.ts";
import type { RegistryClient } from "../registry/client.ts";
import type { PullSecret } from "../registry/pull-secret.ts";
import type { PushRepository } from "../registry/push-repository.ts";
import type { BuiltImage } from "./build-image.ts";
import type { LayoutFolder } from "./layout-folder.ts";

export interface PushDeps {
  readonly client: RegistryClient;
  readonly layout: LayoutFolder;
}

/** How far one blob has come. The last word on each is `done` or `present`: then the registry had it. */
export interface PushProgress {
  readonly blob: Descriptor;
  readonly state: "sending" | "done" | "present";
  /** Sent so far; begins again after a broken connection. */
  readonly bytes: number;
}

export interface PushOptions {
  readonly secrets?: readonly PullSecret[];
  readonly onProgress?: ((progress: PushProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

const uploadsAtOnce = 3;

/** Says whether anything had to be sent. */
export async function pushImage(
  deps: PushDeps,
  image: BuiltImage,
  reference: RegistryReference,
  { secrets = [], onProgress, signal }: PushOptions = {},
): Promise<"pushed" | "present"> {
  const { tag, digest } = reference;
  if (tag === undefined || digest !== undefined) {
    throw new ImageError("invalid_reference", `${formatReference(reference)} cannot be pushed to: it must have a tag, and no digest`);
  }
  const repository = deps.client.openForPush(reference, secrets);
  if ((await repository.digestOfTag(tag, signal)) === image.manifest.digest) return "present";
  using abort = new ChildAbort(signal);
  const limiter = new Limiter(uploadsAtOnce);
  const uploads = blobsOf(image).map((blob) => limiter.run(() => pushBlob(deps, repository, blob, { onProgress, signal: abort.signal })));
  // The first failure ends all others with its own error, and nothing goes on in the background.
  for (const one of uploads) one.catch((error: Error) => abort.abort(error));
  await Promise.allSettled(uploads);
  await Promise.all(uploads);
  await repository.putManifest(tag, image.content, signal);
  return "pushed";
}

/** Each once: an empty layer may stand in an image several times. */
function blobsOf({ config, layers }: BuiltImage): Descriptor[] {
  return [...new Map([config, ...layers].map((blob) => [blob.digest, blob])).values()];
}

async function pushBlob(
  { layout }: PushDeps,
  repository: PushRepository,
  blob: Descriptor,
  { onProgress, signal }: Pick<PushOptions, "onProgress"> & { readonly signal: AbortSignal },
): Promise<void> {
  signal.throwIfAborted();
  async function* open(): AsyncGenerator<Buffer, void> {
    let bytes = 0;
    for await (const chunk of layout.read(blob.digest)) {
      yield chunk;
      bytes += chunk.length;
      onProgress?.({ blob, state: "sending", bytes });
    }
  }
  const outcome = await repository.putBlob(blob, open, signal);
  onProgress?.({ blob, state: outcome === "sent" ? "done" : "present", bytes: blob.size });
}
