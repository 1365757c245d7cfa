/** Names inside a layer: what is allowed, and what OCI's whiteout names mean. Strings are latin1, one character for one byte. */
import { ImageError } from "../image-error.ts";

const whiteoutPrefix = ".wh.";
const opaqueName = ".wh..wh..opq";
/** Other names with this prefix are bookkeeping of AUFS, a file system that is not used any more. */
const bookkeepingPrefix = ".wh..wh.";

const maxComponent = 255;
const maxPath = 4000;

/** The parts of an entry's name. Empty for the layer's root. */
export function layerPath(name: string): string[] {
  if (name.startsWith("/")) throw hostile(name, "is absolute; names in a layer begin at its root");
  if (name.includes("\0")) throw hostile(name, "has a zero byte in it");
  if (name.length > maxPath) throw hostile(name, `is longer than ${maxPath} bytes`);
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  for (const part of parts) {
    if (part === "..") throw hostile(name, "leads out of its folder with ..");
    if (part.length > maxComponent) throw hostile(name, `has a part of more than ${maxComponent} bytes`);
  }
  return parts;
}

export type Whiteout = { readonly kind: "hide"; readonly name: string } | { readonly kind: "hide-all" } | { readonly kind: "ignore" };

/** What the last part of a name says about layers below; undefined for ordinary names. */
export function whiteoutOf(base: string, name: string): Whiteout | undefined {
  if (!base.startsWith(whiteoutPrefix)) return undefined;
  if (base === opaqueName) return { kind: "hide-all" };
  if (base.startsWith(bookkeepingPrefix)) return { kind: "ignore" };
  const hidden = base.slice(whiteoutPrefix.length);
  if (hidden === "" || hidden === "." || hidden === "..") throw hostile(name, "hides nothing that could have a name");
  return { kind: "hide", name: hidden };
}

/** The name by which an OCI layer says that `name` is deleted, and the one that hides a whole folder's content below. */
export function whiteoutName(name: string): string {
  return `${whiteoutPrefix}${name}`;
}
export const opaqueMarker = opaqueName;

/** True for names that would be read as whiteouts. */
export function looksLikeWhiteout(base: string): boolean {
  return base.startsWith(whiteoutPrefix);
}

export function hostile(name: string, why: string): ImageError {
  return new ImageError("hostile_layer", `the layer's entry ${printable(name)} ${why}`);
}

/** A name for people: as text if it is text, cut if it is very long. */
export function printable(name: string): string {
  const text = Buffer.from(name, "latin1").toString("utf8");
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}

/** The bytes that a latin1 string stands for: what file functions get. */
export function bytesOf(path: string): Buffer {
  return Buffer.from(path, "latin1");
}

/** The latin1 string for an ordinary path of this machine. */
export function latin1Of(path: string): string {
  return Buffer.from(path, "utf8").toString("latin1");
}

export function joinPath(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

export function parentPath(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash === -1 ? "" : path.slice(0, slash);
}
