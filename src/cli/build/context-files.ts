/** The files of a build's context folder: what a COPY names, without what .dockerignore leaves out. */
import { lstat, readdir, readFile, readlink } from "node:fs/promises";
import { join, matchesGlob } from "node:path";

export interface ContextFile {
  /** Below the context folder, with / between its parts. */
  readonly name: string;
  readonly path: string;
  readonly kind: "file" | "folder" | "link";
  readonly mode: number;
  readonly size: number;
  /** Of a link. */
  readonly target?: string;
}

/** Sorted by name. Sockets, pipes and devices are left out. */
export async function contextFiles(folder: string): Promise<readonly ContextFile[]> {
  const isIgnored = ignoring(await readFile(join(folder, ".dockerignore"), "utf8").catch(() => ""));
  const found: ContextFile[] = [];
  const walk = async (below: string): Promise<void> => {
    for (const entry of await readdir(join(folder, below))) {
      const name = below === "" ? entry : `${below}/${entry}`;
      const file = await look(join(folder, name), name);
      if (file === undefined) continue;
      const isOut = isIgnored(name);
      if (!isOut) found.push(file);
      // A later pattern may let in what is below a folder that is left out.
      if (file.kind === "folder" && (!isOut || isIgnored.hasExceptions)) await walk(name);
    }
  };
  await walk("");
  return found.toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

async function look(path: string, name: string): Promise<ContextFile | undefined> {
  const stats = await lstat(path);
  const known = { name, path, mode: stats.mode & 0o7777, size: 0 };
  if (stats.isSymbolicLink()) return { ...known, kind: "link", target: await readlink(path) };
  if (stats.isDirectory()) return { ...known, kind: "folder" };
  return stats.isFile() ? { ...known, kind: "file", size: stats.size } : undefined;
}

export interface Ignoring {
  (name: string): boolean;
  readonly hasExceptions: boolean;
}

/** The rules of .dockerignore: a pattern is for a path and all below it, `!` lets in again, and the last one that fits decides. */
export function ignoring(text: string): Ignoring {
  const rules = text.split("\n").flatMap((line) => {
    const pattern = line.trim();
    if (pattern === "" || pattern.startsWith("#")) return [];
    const isException = pattern.startsWith("!");
    const bare = (isException ? pattern.slice(1) : pattern).replace(/^\.?\//, "").replace(/\/$/, "");
    return bare === "" ? [] : [{ bare, isException }];
  });
  const isIgnored = (name: string): boolean => {
    const last = rules.findLast(({ bare }) => fits(name, bare));
    return last !== undefined && !last.isException;
  };
  return Object.assign(isIgnored, { hasExceptions: rules.some(({ isException }) => isException) });
}

/** The files that a source of a COPY names: a path with everything below it, or all paths that match a pattern. */
export function filesOf(source: string, files: readonly ContextFile[]): readonly ContextFile[] {
  return source === "." ? files : files.filter(({ name }) => fits(name, source));
}

/** The path itself, or a folder that it is in. */
function fits(name: string, pattern: string): boolean {
  const parts = name.split("/");
  return parts.some((_, at) => {
    const path = parts.slice(0, at + 1).join("/");
    return path === pattern || matchesGlob(path, pattern);
  });
}
