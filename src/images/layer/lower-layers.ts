/** The unpacked layers below the one that is being made, seen as one tree. */
import { lstatSync, readlinkSync, type Stats } from "node:fs";
import { type Attributes, attributesAt } from "./attributes.ts";
import { bytesOf, latin1Of } from "./layer-path.ts";
import { isOpaque, isWhiteout, type OverlayMarks } from "./overlay-marks.ts";

export type Found =
  | { readonly kind: "folder"; readonly attributes: Attributes }
  | { readonly kind: "link"; readonly target: string }
  | { readonly kind: "other" };

export class LowerLayers {
  readonly #roots: readonly string[];
  readonly #marks: OverlayMarks;

  /** `roots` are the layers' folders, topmost first. */
  constructor(roots: readonly string[], marks: OverlayMarks) {
    this.#roots = roots.map(latin1Of);
    this.#marks = marks;
  }

  /** What is at `path`, whose parents must not be links. */
  find(path: string): Found | undefined {
    for (const root of this.#roots) {
      const seen = this.#lookIn(root, path);
      if (seen === "hidden") return undefined;
      if (seen !== "not-here") return seen;
    }
    return undefined;
  }

  #lookIn(root: string, path: string): Found | "hidden" | "not-here" {
    let hidesBelow = false;
    let at = root;
    for (const part of path === "" ? [] : path.split("/")) {
      hidesBelow ||= isOpaque(this.#marks, bytesOf(at));
      at = `${at}/${part}`;
      const stat = statOf(bytesOf(at));
      if (stat === undefined) return hidesBelow ? "hidden" : "not-here";
      if (isWhiteout(this.#marks, bytesOf(at), stat)) return "hidden";
      // A file or link where a folder is looked for hides the folders of that name below it.
      if (!stat.isDirectory() && at !== `${root}/${path}`) return "hidden";
    }
    return foundAt(bytesOf(at));
  }
}

function foundAt(path: Buffer): Found {
  const stat = lstatSync(path);
  if (stat.isDirectory()) return { kind: "folder", attributes: attributesAt(path, stat) };
  if (stat.isSymbolicLink()) return { kind: "link", target: readlinkSync(path, "latin1") };
  return { kind: "other" };
}

export function statOf(path: Buffer): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}
