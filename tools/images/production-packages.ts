/** The npm packages that a program of ours loads at run time, by the lock file: dependencies of dependencies, and no more. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "typebox";
import { parseJsonAs } from "#images/json-shape.ts";

const names = Type.Optional(Type.Record(Type.String(), Type.String()));
const packageSchema = Type.Object({
  dependencies: names,
  optionalDependencies: names,
  peerDependencies: names,
  dev: Type.Optional(Type.Boolean()),
});
const lockSchema = Type.Object({ packages: Type.Record(Type.String(), packageSchema) });

export type Lock = Static<typeof lockSchema>;

export function parseLock(text: string): Lock {
  return parseJsonAs(lockSchema, text, "package-lock.json");
}

/**
 * Their folders, relative to the repository: `node_modules/ws`. Without those of `leftOut` and what only they need, and
 * without optional ones that are not installed, which are for other machines.
 */
export function productionPackages(lock: Lock, root: string, leftOut: (name: string) => boolean): string[] {
  const found = new Set<string>();
  const add = (from: string, name: string, isNeeded: boolean): void => {
    if (leftOut(name)) return;
    const place = resolvePackage(lock, from, name);
    const isHere = place !== undefined && existsSync(join(root, place));
    if (!isHere && isNeeded) throw new Error(`the package ${name}, which ${from || "AgentBox"} needs, is not installed: run make setup`);
    if (!isHere || found.has(place)) return;
    found.add(place);
    addAll(place);
  };
  const addAll = (from: string): void => {
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {} } = lock.packages[from] ?? {};
    // npm lists optional ones among the dependencies, too.
    for (const name of Object.keys(dependencies)) add(from, name, !(name in optionalDependencies));
    if (from === "") return;
    for (const name of [...Object.keys(optionalDependencies), ...Object.keys(peerDependencies)]) {
      const place = resolvePackage(lock, from, name);
      if (place !== undefined && lock.packages[place]?.dev !== true) add(from, name, false);
    }
  };
  addAll("");
  return [...found].sort();
}

/** Where Node finds a package that is named in the folder `from`: in the nearest node_modules. */
function resolvePackage(lock: Lock, from: string, name: string): string | undefined {
  for (let folder = from; folder !== ""; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const place = `${folder}/node_modules/${name}`;
    if (lock.packages[place] !== undefined) return place;
  }
  const top = `node_modules/${name}`;
  return lock.packages[top] === undefined ? undefined : top;
}
