/**
 * How much an image may ask of the machine. A small blob can unpack to petabytes, and many small layers to as much as one large one, so
 * the numbers hold for all layers of an image together; each layer gets what those below it have left.
 */
export interface LayerLimits {
  /** Uncompressed bytes. */
  readonly maxBytes: number;
  /** Uncompressed bytes for each compressed one, looked at beyond `ratioFromBytes`. */
  readonly maxRatio: number;
  readonly ratioFromBytes: number;
  /** Files, folders, links. */
  readonly maxEntries: number;
  /** What stays free on the disk, whatever is unpacked (disk-room.ts). */
  readonly reserveBytes?: number | undefined;
}

export const defaultLimits: LayerLimits = {
  maxBytes: 32 * 1024 ** 3,
  maxRatio: 100,
  ratioFromBytes: 256 * 1024 ** 2,
  maxEntries: 1_000_000,
};

/** What is used of an image's limits. */
export interface Spent {
  readonly bytes: number;
  readonly entries: number;
}

/** What an image of so many compressed bytes may still unpack to. */
export function limitsLeft(limits: LayerLimits, compressedBytes: number, spent: Spent): LayerLimits {
  const allowed = Math.min(limits.maxBytes, Math.max(limits.ratioFromBytes, limits.maxRatio * compressedBytes));
  return { ...limits, maxBytes: Math.max(0, allowed - spent.bytes), maxEntries: Math.max(0, limits.maxEntries - spent.entries) };
}
