/**
 * The folder that a layer is unpacked into, and the only way to its insides. Nothing is ever reached through a symbolic
 * link by the kernel: links are followed here, part by part, and stay inside the layer, as they would in a container.
 *
 * Only the unpacking itself changes the folder, so what it made it need not look at again: every folder is known by name.
 */
import { mkdirSync, readdirSync, readlinkSync, rmdirSync, unlinkSync } from "node:fs";
import { type Attributes, plainFolder, setAttributes } from "./attributes.ts";
import { bytesOf, hostile, joinPath, latin1Of, parentPath } from "./layer-path.ts";
import { LowerLayers, statOf } from "./lower-layers.ts";
import { isWhiteout, makeOpaque, makeWhiteout, type OverlayMarks } from "./overlay-marks.ts";

/** As many links as Linux follows in one path. */
const maxLinks = 40;

type Seen = { readonly kind: "absent" | "whiteout" | "other" } | { readonly kind: "link"; readonly target: string };

export class LayerRoot {
  readonly #root: string;
  readonly #below: LowerLayers;
  readonly #marks: OverlayMarks;
  /** Every folder of this layer, and what it is to look like in the end: filling it changes its times. */
  readonly #folders = new Map<string, Attributes>();
  readonly #opaque = new Set<string>();
  readonly #whiteouts = new Set<string>();

  /** `root` is an empty folder; `lowers` are the layers below, topmost first. */
  constructor(root: string, lowers: readonly string[], marks: OverlayMarks) {
    this.#root = latin1Of(root);
    this.#marks = marks;
    this.#below = new LowerLayers(lowers, marks);
    const below = this.#below.find("");
    this.#folders.set("", below?.kind === "folder" ? below.attributes : plainFolder);
  }

  /** Where `path` is on disk. Only for paths in a folder that came from `enter` or `find`. */
  at(path: string): Buffer {
    return bytesOf(path === "" ? this.#root : `${this.#root}/${path}`);
  }

  /** The real folder behind these names, made if it is not there. `name` is the entry that needs it, for errors. */
  enter(names: readonly string[], name: string): string {
    return this.#walk(names, name, (path, seen) => this.#makeImplied(path, seen, name)) ?? "";
  }

  /** The real folder behind these names; undefined if this layer does not have it. */
  find(names: readonly string[], name: string): string | undefined {
    return this.#walk(names, name, () => false);
  }

  /** The real path of a file or link of this layer; undefined if it has none of this name, or a folder or whiteout there. */
  findFile(names: readonly string[], name: string): string | undefined {
    const base = names.at(-1);
    const folder = base === undefined ? undefined : this.find(names.slice(0, -1), name);
    if (base === undefined || folder === undefined) return undefined;
    const path = joinPath(folder, base);
    if (this.#folders.has(path)) return undefined;
    const { kind } = this.#see(path);
    return kind === "other" || kind === "link" ? path : undefined;
  }

  /** Makes a folder at `path`, or gives new attributes to the one that is there. */
  makeFolder(path: string, attributes: Attributes): void {
    if (!this.#folders.has(path)) this.#makeNew(path, this.#see(path));
    this.#folders.set(path, attributes);
  }

  /** Removes whatever is at `path`, so that something else can take its place: the last entry of a name counts. */
  clear(path: string): void {
    if (this.#folders.has(path)) this.#removeFolder(path);
    else if (this.#see(path).kind !== "absent") this.#removeFile(path);
  }

  /**
   * Hides what the layers below have at `path`. What this layer has there stays: whiteouts are about the layers below.
   * Where those have nothing none is made: overlayfs lists whiteouts in a folder that it need not merge.
   */
  hide(path: string): void {
    if (this.#folders.has(path)) {
      this.hideAllBelow(path);
      return;
    }
    if (this.#see(path).kind !== "absent" || this.#isHidden(path) || this.#below.find(path) === undefined) return;
    makeWhiteout(this.#marks, this.at(path), [this.at(parentPath(path)), this.at("")]);
    this.#whiteouts.add(path);
  }

  /** Hides everything that the layers below have in this folder. */
  hideAllBelow(folder: string): void {
    makeOpaque(this.#marks, this.at(folder));
    this.#opaque.add(folder);
  }

  /** Gives all folders their owner, mode and times, once nothing more comes. */
  finish(): void {
    for (const path of this.#whiteouts) if (this.#isHidden(path)) unlinkSync(this.at(path));
    for (const [path, attributes] of this.#folders) setAttributes(this.at(path), attributes);
  }

  #walk(names: readonly string[], name: string, missing: (path: string, seen: Seen) => boolean): string | undefined {
    const left = names.toReversed();
    let current = "";
    let links = 0;
    for (let part = left.pop(); part !== undefined; part = left.pop()) {
      // Only link targets have such parts; at the top, .. stays at the top.
      if (part === "" || part === ".") continue;
      const path = part === ".." ? parentPath(current) : joinPath(current, part);
      if (!this.#folders.has(path)) {
        const seen = this.#seeThrough(path);
        if (seen.kind === "link") {
          if (++links > maxLinks) throw hostile(name, `goes through more than ${maxLinks} symbolic links`);
          if (seen.target.startsWith("/")) current = "";
          left.push(...seen.target.split("/").toReversed());
          continue;
        }
        if (!missing(path, seen)) return undefined;
      }
      current = path;
    }
    return current;
  }

  #see(path: string): Seen {
    const place = this.at(path);
    const stat = statOf(place);
    if (stat === undefined) return { kind: "absent" };
    if (stat.isSymbolicLink()) return { kind: "link", target: readlinkSync(place, "latin1") };
    return { kind: isWhiteout(this.#marks, place, stat) ? "whiteout" : "other" };
  }

  /** What is at `path`, in this layer or else as a link in the ones below. */
  #seeThrough(path: string): Seen {
    const seen = this.#see(path);
    if (seen.kind !== "absent" || this.#isHidden(path)) return seen;
    const below = this.#below.find(path);
    return below?.kind === "link" ? below : seen;
  }

  /** A folder that the layer uses without describing it: it looks as it does in the layers below. */
  #makeImplied(path: string, seen: Seen, name: string): boolean {
    const below = seen.kind === "absent" && !this.#isHidden(path) ? this.#below.find(path) : undefined;
    if (seen.kind === "other" || below?.kind === "other") throw hostile(name, "is in a folder that is a file");
    this.#makeNew(path, seen);
    this.#folders.set(path, below?.kind === "folder" ? below.attributes : plainFolder);
    return true;
  }

  #makeNew(path: string, seen: Seen): void {
    if (seen.kind !== "absent") this.#removeFile(path);
    // Private until finished: a layer's mode may be wide open.
    mkdirSync(this.at(path), { mode: 0o700 });
    this.#folders.set(path, plainFolder);
    // Deleted and made anew: the old content must not come back.
    if (seen.kind === "whiteout") this.hideAllBelow(path);
  }

  #isHidden(path: string): boolean {
    if (this.#opaque.size === 0) return false;
    for (let folder = parentPath(path); ; folder = parentPath(folder)) {
      if (this.#opaque.has(folder)) return true;
      if (folder === "") return false;
    }
  }

  #removeFile(path: string): void {
    unlinkSync(this.at(path));
    this.#whiteouts.delete(path);
  }

  #removeFolder(path: string): void {
    for (const name of readdirSync(this.at(path), { encoding: "latin1" })) this.clear(joinPath(path, name));
    rmdirSync(this.at(path));
    this.#folders.delete(path);
    this.#opaque.delete(path);
  }
}
