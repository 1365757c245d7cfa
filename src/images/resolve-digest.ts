/**
 * What a reference means today: the digest behind a tag. Pools ask often and for the same few images, so answers are kept
 * for a while, refusals for a shorter one, and those who ask at the same time share one request.
 */
import { createHash } from "node:crypto";
import { abortable } from "#lib/abortable.ts";
import type { Clock } from "#lib/clock.ts";
import type { Digest } from "./digest.ts";
import { ImageError, isImageError } from "./image-error.ts";
import { manifestFor, parseManifest } from "./manifest.ts";
import { formatPlatform, type Platform } from "./platform.ts";
import { formatReference, type ImageReference, parseReference, type RegistryReference } from "./reference.ts";
import type { RegistryClient } from "./registry/client.ts";
import type { PullSecret } from "./registry/pull-secret.ts";

export interface DigestResolver {
  /**
   * With a platform: the digest of the manifest for it. Without: the one that the tag has, of an index if it is one.
   * A reference that has a digest means that one; nobody is asked.
   */
  resolve(reference: string, options?: ResolveOptions): Promise<ResolvedDigest>;
}

export interface ResolveOptions {
  readonly platform?: Platform;
  readonly pullSecrets?: readonly PullSecret[];
  readonly signal?: AbortSignal;
}

export interface ResolvedDigest {
  readonly digest: Digest;
}

export interface DigestResolverDeps {
  readonly client: RegistryClient;
  readonly clock: Clock;
  /** Images that only this machine has; undefined for all others. */
  readonly localDigest?: (reference: ImageReference) => Promise<Digest | undefined>;
  /** How long an answer counts. */
  readonly ttlMs?: number;
  /** How long it counts that there is no such image, or no access to it. */
  readonly refusedTtlMs?: number;
  /** How long it counts that the registry could not be asked. */
  readonly failedTtlMs?: number;
}

type Outcome = { readonly digest: Digest } | { readonly error: ImageError };

interface Flight {
  readonly outcome: Promise<Digest>;
  readonly abort: AbortController;
  waiting: number;
}

const maxKept = 1000;

export class CachingDigestResolver implements DigestResolver {
  readonly #deps: DigestResolverDeps;
  readonly #kept = new Map<string, { readonly outcome: Outcome; readonly until: number }>();
  readonly #flights = new Map<string, Flight>();

  constructor(deps: DigestResolverDeps) {
    this.#deps = deps;
  }

  async resolve(reference: string, options: ResolveOptions = {}): Promise<ResolvedDigest> {
    const parsed = parseReference(reference);
    if (parsed.digest !== undefined) return { digest: parsed.digest };
    const local = await this.#deps.localDigest?.(parsed);
    if (local !== undefined) return { digest: local };
    if (parsed.kind === "host") throw new ImageError("unsupported", "host is the machine itself, which is not offered as an image here");
    return { digest: await this.#remote(parsed, options) };
  }

  async #remote(reference: RegistryReference, options: ResolveOptions): Promise<Digest> {
    const key = keyOf(reference, options);
    const kept = this.#kept.get(key);
    if (kept !== undefined && kept.until > this.#deps.clock.now()) {
      if ("error" in kept.outcome) throw kept.outcome.error;
      return kept.outcome.digest;
    }
    options.signal?.throwIfAborted();
    const flight = this.#flights.get(key) ?? this.#start(key, reference, options);
    flight.waiting++;
    try {
      return await abortable(flight.outcome, options.signal);
    } finally {
      // The last one who loses interest ends it; nobody ends it for others.
      if (--flight.waiting === 0) this.#end(key, flight);
    }
  }

  #start(key: string, reference: RegistryReference, options: ResolveOptions): Flight {
    const abort = new AbortController();
    const outcome = this.#ask(reference, options, abort.signal).then(
      (digest) => {
        this.#keep(key, { digest }, this.#deps.ttlMs ?? 300_000);
        return digest;
      },
      (error: unknown) => {
        if (isImageError(error)) this.#keep(key, { error }, this.#negativeTtl(error));
        throw error;
      },
    );
    // Everyone may have left before it fails.
    outcome.catch(() => undefined);
    const flight = { outcome, abort, waiting: 0 };
    this.#flights.set(key, flight);
    return flight;
  }

  /** Landed or given up: whoever comes now starts another. */
  #end(key: string, flight: Flight): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
    flight.abort.abort(new Error("nobody waits any more"));
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

  #negativeTtl(error: ImageError): number {
    const { failedTtlMs = 5_000, refusedTtlMs = 30_000 } = this.#deps;
    if (error.code === "rate_limited") return Math.max(error.retryAfterMs ?? 0, refusedTtlMs);
    return error.code === "unreachable" || error.code === "registry_failed" || error.code === "tls" ? failedTtlMs : refusedTtlMs;
  }

  #keep(key: string, outcome: Outcome, ttlMs: number): void {
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= maxKept && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.delete(key);
    this.#kept.set(key, { outcome, until: this.#deps.clock.now() + ttlMs });
  }
}

/** Different secrets may see different things, and secrets do not stay in memory as keys. */
function keyOf(reference: RegistryReference, { platform, pullSecrets = [] }: ResolveOptions): string {
  const parts = [formatReference(reference), platform === undefined ? "" : formatPlatform(platform), ...pullSecrets];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
