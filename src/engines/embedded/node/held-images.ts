/** The images of a node: what its containers use is held, so that no garbage collection takes it; the rest is let go (image-space.ts). */
import type { Digest } from "#images/digest.ts";
import type { ImageStore } from "#images/image-store.ts";
import type { ResolvedImage } from "#images/resolved-image.ts";
import type { Clock } from "#lib/clock.ts";
import type { EnsureImage, NodeImages } from "./agent/ports.ts";
import type { PodRuntime } from "./pod-runtime.ts";

export interface HeldImagesDeps {
  readonly images: Pick<ImageStore, "ensure" | "hold">;
  readonly runtime: Pick<PodRuntime, "list">;
  readonly clock: Clock;
  /** In whose name they are held. */
  readonly owner: string;
}

/** So long after it was asked for, an image without a container may still be on its way into one. */
const onItsWayMs = 10 * 60_000;

export class HeldImages implements NodeImages {
  readonly #deps: HeldImagesDeps;
  /** When each was asked for last. */
  readonly #held = new Map<Digest, number>();
  #written: Promise<void> = Promise.resolve();

  private constructor(deps: HeldImagesDeps) {
    this.#deps = deps;
  }

  /** Holds what is in use now. */
  static async open(deps: HeldImagesDeps): Promise<HeldImages> {
    const held = new HeldImages(deps);
    await held.letGo();
    return held;
  }

  async ensure(reference: string, options: EnsureImage): Promise<ResolvedImage> {
    const image = await this.#deps.images.ensure(reference, options);
    const isNew = !this.#held.has(image.digest);
    this.#held.set(image.digest, this.#deps.clock.now());
    if (isNew) await this.#write();
    return image;
  }

  /** Holds no longer what no container uses and nobody has asked for lately. */
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
