import type { Digest } from "./digest.ts";
import type { ResolvedImage } from "./resolved-image.ts";

/** The pseudo image `host`, made of the machine itself by whoever knows how. */
export interface HostImage {
  /** Changes when the machine's programs do, so that pools notice. */
  digest(): Promise<Digest>;
  /** Ready to be mounted. */
  prepare(signal?: AbortSignal): Promise<ResolvedImage>;
}
