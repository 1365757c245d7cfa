/** A copy of what a container has changed, made fit to be a layer: measured, and without what no layer may hold. */
import type { Stats } from "node:fs";
import { lstat, readdir, unlink } from "node:fs/promises";
import { ImageError } from "../image-error.ts";
import { bytesOf, joinPath, latin1Of, printable } from "../layer/layer-path.ts";
import type { LayerLimits } from "../layer/limits.ts";
import { isWhiteout, type OverlayMarks } from "../layer/overlay-marks.ts";

export interface CopyFacts {
  /** Of the files, as their sizes say; a file with several names counts once. */
  readonly bytes: number;
  readonly entries: number;
  readonly diskBytes: number;
}

/** With room for where layers lie: longer ones could not be reached by their paths. */
const longestPath = 3800;
/** Of stat's blocks. */
const statBlockSize = 512;

/** Devices go: containers get theirs from the runtime. Throws too_large where an image with such a layer could not be pulled either. */
export async function prepareCopy(folder: string, marks: OverlayMarks, limits: LayerLimits): Promise<CopyFacts> {
  const root = latin1Of(folder);
  const counted = new Set<string>();
  const facts = { bytes: 0, entries: 0, diskBytes: 0 };
  const count = (stat: Stats): void => {
    facts.entries += 1;
    const inode = `${stat.dev}:${stat.ino}`;
    if (stat.nlink > 1 && !stat.isDirectory()) {
      if (counted.has(inode)) return;
      counted.add(inode);
    }
    facts.diskBytes += stat.blocks * statBlockSize;
    // Holes count, too: the archive has them as zeros, which are read for its digest.
    if (stat.isFile()) facts.bytes += stat.size;
  };
  const folders = [""];
  for (let path = folders.pop(); path !== undefined; path = folders.pop()) {
    for (const name of await readdir(bytesOf(path === "" ? root : `${root}/${path}`), { encoding: "latin1" })) {
      const inside = joinPath(path, name);
      if (inside.length > longestPath) {
        throw new ImageError(
          "too_large",
          `${printable(inside)} is a path of more than ${longestPath} bytes, which is more than an image may have`,
        );
      }
      const place = bytesOf(`${root}/${inside}`);
      const stat = await lstat(place);
      if (stat.isBlockDevice() || (stat.isCharacterDevice() && !isWhiteout(marks, place, stat))) {
        await unlink(place);
        continue;
      }
      count(stat);
      checkLimits(facts, limits);
      if (stat.isDirectory()) folders.push(inside);
    }
  }
  return facts;
}

function checkLimits({ bytes, entries }: CopyFacts, { maxBytes, maxEntries }: LayerLimits): void {
  if (entries > maxEntries) {
    throw new ImageError("too_large", `the sandbox has changed more than ${maxEntries} files, which is more than an image may have`);
  }
  if (bytes <= maxBytes) return;
  throw new ImageError(
    "too_large",
    `the files that the sandbox has changed are of more than ${maxBytes} bytes, holes included: more than an image may have (AGENTBOX_IMAGE_MAX_BYTES)`,
  );
}
