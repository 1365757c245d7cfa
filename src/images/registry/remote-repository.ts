/** One repository of a registry: its manifests and blobs, from whichever source has them. */
import { type Digest, digestOf, isDigest } from "../digest.ts";
import { ImageError } from "../image-error.ts";
import { acceptedManifests, maxManifestBytes } from "../manifest.ts";
import { type RegistryReference, repositoryName } from "../reference.ts";
import type { Ask, Sources } from "./sources.ts";
import { type Answer, headerOf, readUpTo } from "./transport.ts";

export interface RemoteManifest {
  readonly digest: Digest;
  readonly mediaType: string | undefined;
  readonly content: Buffer;
}

export interface BlobPart {
  /** The source that sent it, for `distrust`. */
  readonly source: number;
  /** Where the content begins: 0 if the registry cannot begin elsewhere. */
  readonly from: number;
  readonly content: AsyncIterable<Buffer>;
}

export class RemoteRepository {
  readonly #reference: RegistryReference;
  readonly #sources: Sources;

  constructor(reference: RegistryReference, sources: Sources) {
    this.#reference = reference;
    this.#sources = sources;
  }

  /** The digest that a tag has at this moment. */
  async resolve(tagOrDigest: string, signal?: AbortSignal): Promise<Digest> {
    const ask = this.#manifestAsk("HEAD", tagOrDigest);
    const digest = await this.#sources.fromAny(signal, async (source) => {
      const answer = await this.#sources.ask(source, ask, signal);
      answer.drop();
      return headerOf(answer, "docker-content-digest");
    });
    if (digest !== undefined && isDigest(digest) && (!isDigest(tagOrDigest) || digest === tagOrDigest)) return digest;
    // Registries may leave the header out; then only the content tells.
    return (await this.manifest(tagOrDigest, signal)).digest;
  }

  /** A manifest or index, checked against the digest if it is asked for by one. */
  manifest(tagOrDigest: string, signal?: AbortSignal): Promise<RemoteManifest> {
    const ask = this.#manifestAsk("GET", tagOrDigest);
    return this.#sources.fromAny(signal, async (source) => {
      const answer = await this.#sources.ask(source, ask, signal);
      const content = await readUpTo(answer, maxManifestBytes + 1);
      if (content.length > maxManifestBytes) throw new ImageError("too_large", `${ask.what} is larger than ${maxManifestBytes} bytes`);
      const digest = digestOf(content);
      const promised = isDigest(tagOrDigest) ? tagOrDigest : headerOf(answer, "docker-content-digest");
      if (promised !== undefined && isDigest(promised) && promised !== digest) {
        throw new ImageError("digest_mismatch", `${ask.what} should be ${promised} but is ${digest}: damaged on its way, or tampered with`);
      }
      return { digest, mediaType: headerOf(answer, "content-type"), content };
    });
  }

  /** A blob's bytes from `from` on. Not checked, and may break off: see download.ts. */
  blob(digest: Digest, from: number, signal?: AbortSignal): Promise<BlobPart> {
    const what = `the blob ${digest} of ${repositoryName(this.#reference)}`;
    const headers = from === 0 ? {} : { range: `bytes=${from}-` };
    const ask: Ask = { method: "GET", path: `blobs/${digest}`, headers, what, accept: from === 0 ? [200] : [200, 206] };
    return this.#sources.fromAny(signal, async (source, index) => {
      const answer = await this.#sources.ask(source, ask, signal);
      return { source: index, from: answer.status === 206 ? startOf(answer, from, what) : 0, content: answer.body };
    });
  }

  /** The credentials that got the last answer, by name (pull-secret.ts). */
  get identity(): string {
    return this.#sources.identity;
  }

  /** Stops asking a source, which gave bad content, and those before it. Says whether there is another. */
  distrust(source: number): boolean {
    return this.#sources.distrust(source);
  }

  #manifestAsk(method: "GET" | "HEAD", tagOrDigest: string): Ask {
    const mark = isDigest(tagOrDigest) ? "@" : ":";
    return {
      method,
      path: `manifests/${tagOrDigest}`,
      headers: { accept: acceptedManifests.join(", ") },
      what: `the manifest of ${repositoryName(this.#reference)}${mark}${tagOrDigest}`,
      accept: [200],
    };
  }
}

/** Where a partial answer begins. */
function startOf(answer: Answer, asked: number, what: string): number {
  const start = /^bytes (\d+)-/.exec(headerOf(answer, "content-range") ?? "")?.[1];
  if (start === undefined || Number(start) > asked) {
    answer.drop();
    throw new ImageError(
      "registry_protocol",
      `${what}: asked from byte ${asked}, answered with ${JSON.stringify(headerOf(answer, "content-range"))}`,
    );
  }
  return Number(start);
}
