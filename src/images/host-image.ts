import type { Digest } from "./digest.ts";
import type { ResolvedImage } from "./resolved-image.ts";

/** The pseudo image `host`, made from the machine itself. The caller of the image store provides it. */
export interface HostImage {
  /** Changes when the machine's programs do, so that pools notice. */
  digest(): Promise<Digest>;
  /** Ready to be mounted. */
  prepare(signal?: AbortSignal): Promise<ResolvedImage>;
}
