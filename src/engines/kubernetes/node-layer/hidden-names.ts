/**
 * What is deleted of an image's layers, without the right to ask overlayfs. Of a folder that was deleted and made anew the kernel notes that nothing below
 * shows through, in an attribute that only CAP_SYS_ADMIN can read. What cannot be read is seen: a name that the layers below have, and the container does not.
 * Whiteouts of single names say the same as that attribute, and one too many says nothing wrong.
 */
import { lstat, readdir } from "node:fs/promises";
import { hasCode } from "#lib/native/files.ts";
import { bytesOf } from "#images/layer/layer-path.ts";
import type { OverlayMount } from "./overlay-mount.ts";

/** For one layer; folders are asked for from the top down, as they are packed. Paths and names are latin1. */
export class HiddenNames {
  readonly #merged: string;
  /** Of each folder that was asked for: the layers that have it, as a folder. Links in them are never followed. */
  readonly #layersOf = new Map<string, readonly string[]>();

  constructor({ merged, lower }: Pick<OverlayMount, "merged" | "lower">) {
    this.#merged = latin1(merged);
    this.#layersOf.set("", lower.map(latin1));
  }

  /** `names` are those that the writable layer has in the folder. */
  async in(path: string, names: readonly string[]): Promise<readonly string[]> {
    const layers = await this.#layersWith(path);
    if (layers.length === 0) return [];
    const own = new Set(names);
    const below = new Set<string>();
    for (const layer of layers) for (const name of await namesIn(place(layer, path))) if (!own.has(name)) below.add(name);
    if (below.size === 0) return [];
    const seen = new Set(await namesIn(place(this.#merged, path)));
    return [...below].filter((name) => !seen.has(name)).sort();
  }

  async #layersWith(path: string): Promise<readonly string[]> {
    const known = this.#layersOf.get(path);
    if (known !== undefined) return known;
    const above = this.#layersOf.get(path.slice(0, Math.max(0, path.lastIndexOf("/")))) ?? [];
    const layers: string[] = [];
    for (const layer of above) {
      const kind = await kindOf(place(layer, path));
      // What is below a file, a link or a whiteout does not show, and a whiteout of a name there would show itself.
      if (kind === "other") break;
      if (kind === "folder") layers.push(layer);
    }
    this.#layersOf.set(path, layers);
    return layers;
  }
}

function latin1(path: string): string {
  return Buffer.from(path).toString("latin1");
}

function place(root: string, path: string): Buffer {
  return bytesOf(path === "" ? root : `${root}/${path}`);
}

async function kindOf(path: Buffer): Promise<"folder" | "other" | "none"> {
  try {
    return (await lstat(path)).isDirectory() ? "folder" : "other";
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return "none";
    throw error;
  }
}

async function namesIn(path: Buffer): Promise<readonly string[]> {
  return readdir(path, { encoding: "latin1" });
}
