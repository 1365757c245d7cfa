/** Interprets the two words of `agentbox cp`, and decides the name of the copy. Pure. */
import { posix } from "node:path";
import { CliError, UsageError } from "../failure.ts";

export type CopyPlace =
  | { readonly at: "sandbox"; readonly id: string; readonly path: string }
  | { readonly at: "here"; readonly path: string }
  | { readonly at: "stream" };

/** `ID:PATH` is in a sandbox; a word with a slash before the colon is a local path. */
export function copyPlace(word: string): CopyPlace {
  if (word === "-") return { at: "stream" };
  const [, id, path] = /^([A-Za-z0-9][A-Za-z0-9-]*):(.*)$/s.exec(word) ?? [];
  if (id === undefined || path === undefined) return { at: "here", path: word };
  if (path === "") throw new UsageError(`${word} has no path in the sandbox: write ${word}PATH, such as ${word}/tmp`);
  return { at: "sandbox", id, path };
}

export function copyPlaces(words: readonly string[]): readonly [from: CopyPlace, to: CopyPlace] {
  const [from, to, ...more] = words;
  if (from === undefined || to === undefined || more.length > 0) {
    throw new UsageError("cp needs a source and a target, at least one of them in a sandbox: agentbox cp notes.txt ID:/tmp");
  }
  const places = [copyPlace(from), copyPlace(to)] as const;
  if (!places.some(({ at }) => at === "sandbox"))
    throw new UsageError(`neither ${from} nor ${to} is in a sandbox: write ID:PATH for a path in a sandbox`);
  return places;
}

/** What exists at a path. `none`: not even its parent folder exists. */
export type PathKind = "folder" | "file" | "new" | "none";

export interface Source {
  readonly path: string;
  readonly kind: "folder" | "file";
}

/** The folder that a copy goes into, and its name there; `.` for the contents of a folder. */
export interface Arrival {
  readonly folder: string;
  readonly name: string;
}

export function arrivalOf(source: Source, target: { readonly path: string; readonly kind: PathKind }): Arrival {
  const { path, kind } = target;
  if (kind === "none") throw new CliError(`there is no folder ${posix.dirname(path)} to copy into`);
  if (kind === "folder") return { folder: path, name: entryName(source) };
  if (source.kind === "folder" && kind === "file")
    throw new CliError(`${path} is a file, and ${source.path} is a folder: choose another target`);
  if (source.kind === "file" && path.endsWith("/"))
    throw new CliError(`there is no folder ${path}: create it first, or remove the slash at the end`);
  return { folder: posix.dirname(path), name: posix.basename(path) };
}

/** For `folder/.` the contents are copied, otherwise the folder or file itself. */
export function entryName({ path, kind }: Source): string {
  if (kind === "folder" && /(^|\/)\.\/?$/.test(path)) return ".";
  return posix.basename(path) === "" ? "." : posix.basename(path);
}

/**
 * Renames an archive entry: replaces its first part `from` with `to`. An archive from a sandbox is not trusted: entries that point outside the requested
 * folder are refused.
 */
export function renamedEntry(entry: string, from: string, to: string): string {
  const parts = entry.split("/").filter((part) => part !== "" && part !== ".");
  if (entry.startsWith("/") || parts.includes("..") || entry.includes("\0")) throw new CliError(hostile(entry));
  if (from === ".") return [...(to === "." ? [] : [to]), ...parts].join("/");
  if (parts[0] !== from) throw new CliError(hostile(entry));
  return [...(to === "." ? [] : [to]), ...parts.slice(1)].join("/");
}

export function hostile(entry: string): string {
  return `the sandbox sent an archive with ${JSON.stringify(entry)}, which points outside the requested folder: unpacking stopped`;
}
