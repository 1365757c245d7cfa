/** The places that have a repository: asked one after the other, each with whatever authorization it wants. */
import { type ImageError, isImageError } from "../image-error.ts";
import type { RegistryReference } from "../reference.ts";
import type { Access, Authorizer } from "./authorizer.ts";
import type { Endpoint } from "./endpoints.ts";
import { type Credential, identityOf } from "./pull-secret.ts";
import { type RetryDeps, withRetries } from "./retry.ts";
import type { Answer, Exchange, Transport } from "./transport.ts";

/** A registry or mirror to ask, and the credential to use. */
export interface Source {
  readonly endpoint: Endpoint;
  readonly credential: Credential | undefined;
}

export interface SourceDeps extends RetryDeps {
  readonly transport: Transport;
  readonly authorizer: Authorizer;
  /** Told of every source that failed. */
  readonly onFailure?: ((error: ImageError) => void) | undefined;
}

export type Ask = Pick<Exchange, "method" | "headers" | "body" | "what"> & {
  /** Behind the repository's name; or where the registry itself sent us. */
  readonly path: string | URL;
  readonly accept: readonly number[];
};

/** A mirror is a shortcut: when it is slow to answer the registry itself is there. */
const mirrorTries = 2;
const originTries = 5;

export class Sources {
  readonly #reference: RegistryReference;
  readonly #actions: Access["actions"];
  readonly #sources: readonly Source[];
  readonly #deps: SourceDeps;
  /** The first source that has not failed us. */
  #current = 0;

  constructor(reference: RegistryReference, actions: Access["actions"], sources: readonly Source[], deps: SourceDeps) {
    this.#reference = reference;
    this.#actions = actions;
    this.#sources = sources;
    this.#deps = deps;
  }

  /** Asks one source after the other, beginning with the one that worked last, until one gives an answer. */
  async fromAny<T>(signal: AbortSignal | undefined, attempt: (source: Source, index: number) => Promise<T>): Promise<T> {
    for (let index = this.#current; ; index++) {
      const source = this.#sources[index];
      if (source === undefined) throw new Error("a repository without sources");
      try {
        const tries = source.endpoint.isMirror ? mirrorTries : originTries;
        const result = await withRetries(this.#deps, tries, () => attempt(source, index), signal);
        this.#current = Math.max(this.#current, index);
        return result;
      } catch (error) {
        if (!isImageError(error)) throw error;
        this.#deps.onFailure?.(error);
        if (index + 1 >= this.#sources.length) throw error;
      }
    }
  }

  /** One question, with whatever authorization the registry asks for. */
  async ask({ endpoint, credential }: Source, ask: Ask, signal: AbortSignal | undefined): Promise<Answer> {
    const { transport, authorizer } = this.#deps;
    const { repository } = this.#reference;
    const access: Access = { url: endpoint.url, repository, actions: this.#actions, credential };
    const url = typeof ask.path === "string" ? new URL(`${endpoint.url}/v2/${repository}/${ask.path}`) : ask.path;
    const registry = new URL(endpoint.url);
    const exchange = { ...ask, url, registry, signal };
    // The registry may send us to another host, which must not get our credentials.
    const isTrusted = url.origin === registry.origin;
    let answer = await transport.send({ ...exchange, authorization: isTrusted ? authorizer.known(access) : undefined });
    if (answer.status === 401 && isTrusted) {
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

  /** The credentials that got the last answer, by name. */
  get identity(): string {
    return identityOf(this.#reference.registry, this.#sources[this.#current]?.credential);
  }

  /** Stops asking a source, which gave bad content, and those before it. Says whether there is another. */
  distrust(source: number): boolean {
    if (source + 1 >= this.#sources.length) return false;
    this.#current = Math.max(this.#current, source + 1);
    return true;
  }
}
