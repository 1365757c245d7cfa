/** One repository of a registry: its manifests and blobs, from whichever source has them. */
import { type Digest, digestOf, isDigest } from "../digest.ts";
import { ImageError, isImageError } from "../image-error.ts";
import { acceptedManifests, maxManifestBytes } from "../manifest.ts";
import { type RegistryReference, repositoryName } from "../reference.ts";
import type { Access, Authorizer } from "./authorizer.ts";
import type { Endpoint } from "./endpoints.ts";
import type { Credential } from "./pull-secret.ts";
import { type RetryDeps, withRetries } from "./retry.ts";
import { type Answer, type Exchange, headerOf, readUpTo, type Transport } from "./transport.ts";

/** A place to ask, as somebody. */
export interface Source {
  readonly endpoint: Endpoint;
  readonly credential: Credential | undefined;
}

export interface RepositoryDeps extends RetryDeps {
  readonly transport: Transport;
  readonly authorizer: Authorizer;
}

export interface RemoteManifest {
  readonly digest: Digest;
  readonly mediaType: string | undefined;
  readonly content: Buffer;
}

export interface BlobPart {
  /** Who gave it, for `distrust`. */
  readonly source: number;
  /** Where the content begins: 0 if the registry cannot begin elsewhere. */
  readonly from: number;
  readonly content: AsyncIterable<Buffer>;
}

type Ask = Pick<Exchange, "method" | "headers" | "what"> & { readonly path: string; readonly accept: readonly number[] };

/** A mirror is a shortcut: when it is slow to answer the registry itself is there. */
const mirrorTries = 2;
const originTries = 5;

export class RemoteRepository {
  readonly #reference: RegistryReference;
  readonly #sources: readonly Source[];
  readonly #deps: RepositoryDeps;
  /** The first source that has not failed us. */
  #current = 0;

  constructor(reference: RegistryReference, sources: readonly Source[], deps: RepositoryDeps) {
    this.#reference = reference;
    this.#sources = sources;
    this.#deps = deps;
  }

  /** The digest that a tag has at this moment. */
  async resolve(tagOrDigest: string, signal?: AbortSignal): Promise<Digest> {
    const ask = this.#manifestAsk("HEAD", tagOrDigest);
    const digest = await this.#fromAny(signal, async (source) => {
      const answer = await this.#ask(source, ask, signal);
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
    return this.#fromAny(signal, async (source) => {
      const answer = await this.#ask(source, ask, signal);
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
    return this.#fromAny(signal, async (source, index) => {
      const answer = await this.#ask(source, ask, signal);
      return { source: index, from: answer.status === 206 ? startOf(answer, from, what) : 0, content: answer.body };
    });
  }

  /** Stops asking a source, which gave bad content, and those before it. Says whether there is another. */
  distrust(source: number): boolean {
    if (source + 1 >= this.#sources.length) return false;
    this.#current = Math.max(this.#current, source + 1);
    return true;
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

  /** Asks one source after the other, beginning with the one that worked last, until one gives an answer. */
  async #fromAny<T>(signal: AbortSignal | undefined, attempt: (source: Source, index: number) => Promise<T>): Promise<T> {
    for (let index = this.#current; ; index++) {
      const source = this.#sources[index];
      if (source === undefined) throw new Error("a repository without sources");
      try {
        const tries = source.endpoint.isMirror ? mirrorTries : originTries;
        const result = await withRetries(this.#deps, tries, () => attempt(source, index), signal);
        this.#current = Math.max(this.#current, index);
        return result;
      } catch (error) {
        if (!isImageError(error) || index + 1 >= this.#sources.length) throw error;
      }
    }
  }

  /** One question, with whatever authorization the registry asks for. */
  async #ask({ endpoint, credential }: Source, ask: Ask, signal: AbortSignal | undefined): Promise<Answer> {
    const { transport, authorizer } = this.#deps;
    const { repository } = this.#reference;
    const access: Access = { url: endpoint.url, repository, actions: "pull", credential };
    const url = new URL(`${endpoint.url}/v2/${repository}/${ask.path}`);
    const exchange = { method: ask.method, url, headers: ask.headers ?? {}, what: ask.what, signal };
    let answer = await transport.send({ ...exchange, authorization: authorizer.known(access) });
    if (answer.status === 401) {
      authorizer.forget(access);
      const authorization = await authorizer.answer(access, answer, signal);
      if (authorization !== undefined) {
        answer.drop();
        answer = await transport.send({ ...exchange, authorization });
      }
    }
    if (ask.accept.includes(answer.status)) return answer;
    throw await transport.refused(ask.what, answer);
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
