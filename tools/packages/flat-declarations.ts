/** The declarations that an entry needs, in one folder: their imports of each other are rewritten, and what no public type names is left out. */
import { readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";

const specifier = /(\bfrom |\bimport\()"((?:\.{1,2}\/|#)[^"]+)\.ts"/g;

/** File names and their texts; the entry's own name is kept. */
export function flatDeclarations(folder: string, entry: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const texts = new Map<string, string>();
  const take = (path: string): string => {
    const known = names.get(path);
    if (known !== undefined) return known;
    const name = basename(path);
    if ([...names.values()].includes(name)) throw new Error(`two declarations of the package are called ${name}`);
    names.set(path, name);
    const text = readFileSync(join(folder, path), "utf8").replaceAll(specifier, (_, before: string, target: string) => {
      const found = target.startsWith("#") ? target.slice(1) : join(dirname(path), target);
      return `${before}"./${take(`${relative("", found)}.d.ts`).replace(/\.d\.ts$/, ".js")}"`;
    });
    texts.set(name, text);
    return name;
  };
  take(entry);
  return texts;
}
