import type { Digest } from "./digest.ts";

/** How far one layer of an image has come. Told often; the last word on each layer is `done`. */
export interface LayerProgress {
  readonly layer: Digest;
  readonly state: "waiting" | "downloading" | "unpacking" | "done";
  /** Of what the state is about: compressed bytes while downloading, uncompressed ones while unpacking. */
  readonly bytes: number;
  /** Compressed size. */
  readonly total: number;
}

export type OnProgress = (progress: LayerProgress) => void;
