/**
 * What overlayfs reads as "deleted" and as "nothing of the layers below shows through this folder". As root that is a
 * device node 0:0 and an attribute in the `trusted.` namespace. Where device nodes cannot be made an empty file with an
 * attribute takes their place (Linux 6.7 or newer), and where `trusted.` is out of reach `user.` does, if the overlay is
 * mounted with `userxattr`.
 */
import { mkdirSync, rmSync, type Stats, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getXattr, makeNode, setXattr } from "#lib/native/files.ts";

export interface OverlayMarks {
  readonly whiteout: "device" | "xattr";
  readonly namespace: "trusted" | "user";
}

const characterDevice = 0o020000;
const yes = Buffer.from("y");
/** On a folder: some files in it are whiteouts by attribute. The kernel looks for those only where this stands. */
const hasXattrWhiteouts = Buffer.from("x");

/** What can be made in this folder, found by trying. */
export function probeMarks(folder: string): OverlayMarks {
  const place = join(folder, "probe-marks");
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place);
  try {
    const namespace = succeeds(() => setXattr(Buffer.from(place), "trusted.overlay.opaque", yes)) ? "trusted" : "user";
    const whiteout = succeeds(() => makeNode(Buffer.from(join(place, "node")), characterDevice)) ? "device" : "xattr";
    return { whiteout, namespace };
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/** Makes a whiteout; `folders` are the folder that it stands in and the layer's root. Nothing may be at `path` yet. */
export function makeWhiteout(marks: OverlayMarks, path: Buffer, folders: readonly Buffer[]): void {
  if (marks.whiteout === "device") {
    makeNode(path, characterDevice);
    return;
  }
  writeFileSync(path, "", { flag: "wx" });
  setXattr(path, `${marks.namespace}.overlay.whiteout`, yes);
  for (const folder of folders) if (!isOpaque(marks, folder)) setXattr(folder, `${marks.namespace}.overlay.opaque`, hasXattrWhiteouts);
}

export function isWhiteout(marks: OverlayMarks, path: Buffer, stat: Stats): boolean {
  if (stat.isCharacterDevice()) return stat.rdev === 0;
  return (
    marks.whiteout === "xattr" && stat.isFile() && stat.size === 0 && getXattr(path, `${marks.namespace}.overlay.whiteout`) !== undefined
  );
}

export function makeOpaque(marks: OverlayMarks, folder: Buffer): void {
  setXattr(folder, `${marks.namespace}.overlay.opaque`, yes);
}

export function isOpaque(marks: OverlayMarks, folder: Buffer): boolean {
  return getXattr(folder, `${marks.namespace}.overlay.opaque`)?.equals(yes) === true;
}

function succeeds(act: () => void): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}
