/** The images of a node: what its containers use is held, so that no garbage collection takes it; the rest is let go (image-space.ts). */
import type { Digest } from "#images/digest.ts";
import { isImageError } from "#images/image-error.ts";
import type { ImageStore } from "#images/image-store.ts";
import type { ResolvedImage } from "#images/resolved-image.ts";
import type { Clock } from "#lib/clock.ts";
import type { EnsureImage, NodeImages } from "./agent/ports.ts";
import type { PodRuntime } from "./pod-runtime.ts";

export interface HeldImagesDeps {
  readonly images: Pick<ImageStore, "ensure" | "hold" | "usedByTeams">;
  readonly runtime: Pick<PodRuntime, "list">;
  readonly clock: Clock;
  /** The name under which the images are held. */
  readonly owner: string;
  /** In bytes: what images that a team's pods bring may take. */
  readonly limitOf: (team: string) => number;
}

export interface TeamSpace {
  readonly team: string;
  readonly usedBytes: number;
  readonly maxBytes: number;
  /** A pull of the team's was refused since its images were last collected. */
  readonly wasRefused: boolean;
}

/** So long after it was asked for, an image without a container may still be on its way into one. */
const onItsWayMs = 10 * 60_000;

export class HeldImages implements NodeImages {
  readonly #deps: HeldImagesDeps;
  /** When each was asked for last. */
  readonly #held = new Map<Digest, number>();
  #written: Promise<void> = Promise.resolve();
  #usedByTeams: ReadonlyMap<string, number> = new Map();
  readonly #refused = new Set<string>();

  private constructor(deps: HeldImagesDeps) {
    this.#deps = deps;
  }

  /** Holds what is in use now. */
  static async open(deps: HeldImagesDeps): Promise<HeldImages> {
    const held = new HeldImages(deps);
    await held.letGo();
    await held.teams();
    return held;
  }

  async ensure(reference: string, options: EnsureImage): Promise<ResolvedImage> {
    const image = await this.#ensure(reference, options);
    const isNew = !this.#held.has(image.digest);
    this.#held.set(image.digest, this.#deps.clock.now());
    if (isNew) await this.#write();
    return image;
  }

  /** What images that a team's pods have brought take, as of the last pull or look. */
  usedBytes(team: string): number {
    return this.#usedByTeams.get(team) ?? 0;
  }

  /** Looks again. */
  async teams(): Promise<readonly TeamSpace[]> {
    this.#usedByTeams = await this.#deps.images.usedByTeams();
    return [...this.#usedByTeams].map(([team, usedBytes]) => ({
      team,
      usedBytes,
      maxBytes: this.#deps.limitOf(team),
      wasRefused: this.#refused.has(team),
    }));
  }

  /** The team's unused images are gone now. */
  collected(team: string): void {
    this.#refused.delete(team);
  }

  async #ensure(reference: string, { team, ...options }: EnsureImage): Promise<ResolvedImage> {
    const { images, limitOf } = this.#deps;
    if (team === undefined) return images.ensure(reference, options);
    let isFetched = false;
    const onProgress = (): void => {
      isFetched = true;
      options.onProgress?.();
    };
    try {
      return await images.ensure(reference, { ...options, onProgress, budget: { team, maxBytes: limitOf(team) } });
    } catch (error) {
      if (isImageError(error, "team_limit")) this.#refused.add(team);
      throw error;
    } finally {
      if (isFetched) await this.teams();
    }
  }

  /** Releases the images that no container uses and that were not requested lately. */
  async letGo(): Promise<void> {
    const { runtime, clock } = this.#deps;
    const used = new Set((await runtime.list()).flatMap(({ containers }) => containers.map((one) => one.imageDigest as Digest)));
    const since = clock.now() - onItsWayMs;
    for (const [digest, asked] of this.#held) if (!used.has(digest) && asked <= since) this.#held.delete(digest);
    for (const digest of used) if (!this.#held.has(digest)) this.#held.set(digest, 0);
    await this.#write();
  }

  /** One after the other: the last one written must be the newest. */
  #write(): Promise<void> {
    const write = (): Promise<void> => this.#deps.images.hold(this.#deps.owner, [...this.#held.keys()]);
    this.#written = this.#written.then(write, write);
    return this.#written;
  }
}
