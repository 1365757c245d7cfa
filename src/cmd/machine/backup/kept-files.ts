/** Which files of a data folder a backup takes as they are: keys, certificates, settings, and whatever its user put beside them. */
import { readdir, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import type { HomeFolder } from "#cmd/parts/home-folder.ts";

export interface KeptFiles {
  /** Relative to the data folder, in order. */
  readonly files: readonly string[];
  /** Sockets, pipes, links to folders and links that lead nowhere. */
  readonly leftOut: readonly string[];
}

/** What is true only here and now (run, node, logs), what is copied in its own way (images, databases), what is too large (volumes), and what SQLite keeps beside a database. */
const notKept = [/^(run|node|logs|images|volumes)$/, /^(objects|history)\.db(-wal|-shm|-journal|\.pid)?$/, /^node-life\.json(\.new)?$/];

export async function keptFiles({ folder }: Pick<HomeFolder, "folder">): Promise<KeptFiles> {
  const files: string[] = [];
  const leftOut: string[] = [];
  const walk = async (below: string): Promise<void> => {
    const entries = await readdir(below, { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(below, entry.name);
      const name = relative(folder, path);
      if (notKept.some((pattern) => pattern.test(name))) continue;
      if (entry.isDirectory()) await walk(path);
      // A link to a file is kept as the file: on another machine it would lead nowhere.
      else if ((await stat(path).catch(() => undefined))?.isFile() === true) files.push(name);
      else leftOut.push(name);
    }
  };
  await walk(folder);
  return { files, leftOut };
}
