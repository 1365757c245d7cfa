/** How much a layer may ask of the machine. A small blob can unpack to petabytes; these bounds stop it early. */
export interface LayerLimits {
  /** Uncompressed bytes. */
  readonly maxBytes: number;
  /** Uncompressed bytes for each compressed one, looked at once a layer is larger than `ratioFromBytes`: zeros compress well. */
  readonly maxRatio: number;
  readonly ratioFromBytes: number;
  /** Files, folders, links. */
  readonly maxEntries: number;
}

export const defaultLimits: LayerLimits = {
  maxBytes: 64 * 1024 ** 3,
  maxRatio: 200,
  ratioFromBytes: 1024 ** 3,
  maxEntries: 2_000_000,
};
