import { readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { ConnectError } from "#envd/connect/connect-error.ts";
import { codeOf } from "#envd/files/file-failure.ts";
import type { EntryInfo } from "#envd-protocol/filesystem-messages.ts";
import { entryInfos, type EntryDeps, type Place } from "./entry-info.ts";

/** The entries of a folder down to a depth, each folder before what is in it, by name. Throws ConnectError, or what the system says. */
export async function listFolder(deps: EntryDeps, path: string, depth: number): Promise<EntryInfo[]> {
  const real = await realpath(path).catch((error: unknown) => {
    if (codeOf(error) === "ELOOP") throw new ConnectError("failed_precondition", `the links at '${path}' lead in a circle`);
    throw error;
  });
  if (!(await stat(real)).isDirectory()) throw new ConnectError("invalid_argument", `path is not a directory: ${path}`);
  const places: Place[] = [];
  await walk({ path, real }, Math.max(1, depth), places);
  return entryInfos(deps, places);
}

async function walk(folder: Place, depth: number, places: Place[]): Promise<void> {
  const entries = await readdir(folder.real, { withFileTypes: true }).catch((error: unknown) => {
    // One below the first that vanished or cannot be read is shown without contents.
    if (places.length > 0) return [];
    throw error;
  });
  entries.sort((left, right) => Buffer.compare(Buffer.from(left.name), Buffer.from(right.name)));
  for (const entry of entries) {
    const place = { path: join(folder.path, entry.name), real: join(folder.real, entry.name) };
    places.push(place);
    if (depth > 1 && entry.isDirectory()) await walk(place, depth - 1, places);
  }
}
