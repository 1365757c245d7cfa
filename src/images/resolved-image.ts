import type { Digest } from "./digest.ts";
import type { ImageConfig } from "./image-config.ts";

/** An image that is on this machine, unpacked, ready to be mounted. */
export interface ResolvedImage {
  /** `host` is the machine itself: its one layer is the root without /usr, and /usr is the machine's own. */
  readonly kind: "oci" | "host";
  /** Digest of the config: what the image is, wherever it came from. */
  readonly id: Digest;
  /** Digest by which a registry knows it: of the index if it has one, else of the manifest. */
  readonly digest: Digest;
  readonly config: ImageConfig;
  /** Absolute paths that overlayfs takes as lower directories, topmost first. */
  readonly layers: readonly string[];
}
