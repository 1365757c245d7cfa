/** What a reference means today: the digest behind a tag. */
import { createHash } from "node:crypto";
import type { Digest } from "./digest.ts";
import { ImageError } from "./image-error.ts";
import { KeptAnswers, type KeptAnswersDeps } from "./kept-answers.ts";
import { manifestFor, parseManifest } from "./manifest.ts";
import { formatPlatform, type Platform } from "./platform.ts";
import { formatReference, type ImageReference, parseReference, type RegistryReference, repositoryName } from "./reference.ts";
import type { RegistryClient } from "./registry/client.ts";
import type { PullSecret } from "./registry/pull-secret.ts";

export interface DigestResolver {
  /**
   * With a platform: the digest of the manifest for it. Without: the one that the tag has, of an index if it is one.
   * A reference that has a digest means that one; the registry is asked only if access must be proven.
   */
  resolve(reference: string, options?: ResolveOptions): Promise<ResolvedDigest>;
}

export interface ResolveOptions {
  readonly platform?: Platform;
  readonly pullSecrets?: readonly PullSecret[];
  /** The registry must show the image to these secrets, also at a digest. What was shown once counts as long as this process runs. */
  readonly isProof?: boolean;
  readonly signal?: AbortSignal;
}

export interface ResolvedDigest {
  readonly digest: Digest;
}

export interface DigestResolverDeps extends Omit<KeptAnswersDeps, "ttlMs"> {
  readonly client: RegistryClient;
  /** Images that only this machine has; undefined for all others. */
  readonly localDigest?: (reference: ImageReference) => Promise<Digest | undefined>;
  /** How long an answer counts. */
  readonly ttlMs?: number;
}

const usualTtlMs = 300_000;

export class CachingDigestResolver implements DigestResolver {
  readonly #deps: DigestResolverDeps;
  readonly #answers: KeptAnswers<Digest>;
  readonly #proofs: KeptAnswers<Digest>;

  constructor(deps: DigestResolverDeps) {
    this.#deps = deps;
    this.#answers = new KeptAnswers({ ...deps, ttlMs: deps.ttlMs ?? usualTtlMs });
    this.#proofs = new KeptAnswers({ ...deps, ttlMs: Number.POSITIVE_INFINITY });
  }

  async resolve(reference: string, options: ResolveOptions = {}): Promise<ResolvedDigest> {
    const parsed = parseReference(reference);
    if (parsed.digest !== undefined) return { digest: await this.#atDigest(parsed, parsed.digest, options) };
    const local = await this.#deps.localDigest?.(parsed);
    if (local !== undefined) return { digest: local };
    if (parsed.kind === "host") throw new ImageError("unsupported", "host is the machine itself, which is not offered as an image here");
    const { platform, pullSecrets = [] } = options;
    const key = answerKey([formatReference(parsed), platform === undefined ? "" : formatPlatform(platform)], pullSecrets);
    return { digest: await this.#answers.get(key, (signal) => this.#ask(parsed, options, signal), options.signal) };
  }

  async #atDigest(parsed: ImageReference, digest: Digest, { isProof = false, pullSecrets = [], signal }: ResolveOptions): Promise<Digest> {
    if (!isProof || parsed.kind === "host" || (await this.#deps.localDigest?.(parsed)) !== undefined) return digest;
    const key = answerKey([repositoryName(parsed), digest], pullSecrets);
    // The manifest itself, not its name: a registry that does not have it could repeat the digest that it was asked for.
    const ask = async (untilLeft: AbortSignal): Promise<Digest> =>
      (await this.#deps.client.open(parsed, pullSecrets).manifest(digest, untilLeft)).digest;
    return this.#proofs.get(key, ask, signal);
  }

  async #ask(reference: RegistryReference, { platform, pullSecrets = [] }: ResolveOptions, signal: AbortSignal): Promise<Digest> {
    const repository = this.#deps.client.open(reference, pullSecrets);
    const tag = reference.tag ?? "latest";
    if (platform === undefined) return repository.resolve(tag, signal);
    const what = formatReference(reference);
    const { digest, content, mediaType } = await repository.manifest(tag, signal);
    const parsed = parseManifest(content, `the manifest of ${what}`, mediaType);
    return parsed.kind === "index" ? manifestFor(parsed, platform, what).digest : digest;
  }
}

/** Different secrets may see different things, and secrets do not stay in memory as keys. */
export function answerKey(question: readonly string[], pullSecrets: readonly PullSecret[]): string {
  return createHash("sha256")
    .update(JSON.stringify([...question, ...pullSecrets]))
    .digest("hex");
}
