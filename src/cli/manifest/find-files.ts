import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join, resolve } from "node:path";
import type { CliContext } from "../context.ts";
import { CliError } from "../failure.ts";

/** A file with objects, and its name in messages. */
export interface ManifestFile {
  readonly source: string;
  readonly text: string;
}

const extensions = [".json", ".yaml", ".yml"];

/**
 * Finds the files that `-f` names: files, folders (their JSON and YAML files, sorted by name) and `-` for standard input. All paths are checked before the
 * first file is read, so that a typing error in the last path is found before the first file is applied.
 */
export async function readManifestFiles(
  context: CliContext,
  paths: readonly string[],
  recursive: boolean,
): Promise<readonly ManifestFile[]> {
  const found: string[] = [];
  for (const path of paths) found.push(...(await filesAt(context, path, recursive)));
  return await Promise.all(found.map(async (path) => await readManifestFile(context, path)));
}

async function filesAt(context: CliContext, path: string, recursive: boolean): Promise<readonly string[]> {
  if (path === "-") return [path];
  if (/^https?:\/\//.test(path)) throw new CliError(`cannot read ${path}: only files, folders and - (standard input) are read`);
  const about = await stat(resolve(context.cwd, path)).catch(() => undefined);
  if (about === undefined) throw new CliError(`the path ${JSON.stringify(path)} does not exist`);
  if (!about.isDirectory()) return [path];
  const files = await filesIn(context, path, recursive);
  if (files.length === 0) throw new CliError(`error reading [${path}]: recognized file extensions are [${extensions.join(" ")}]`);
  return files;
}

async function filesIn(context: CliContext, folder: string, recursive: boolean): Promise<readonly string[]> {
  const entries = await readdir(resolve(context.cwd, folder), { withFileTypes: true });
  const files: string[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) files.push(...(recursive ? await filesIn(context, path, recursive) : []));
    else if (extensions.includes(extname(entry.name))) files.push(path);
  }
  return files;
}

async function readManifestFile(context: CliContext, path: string): Promise<ManifestFile> {
  if (path === "-") return { source: "STDIN", text: await context.readStdin() };
  try {
    return { source: path, text: await readFile(resolve(context.cwd, path), "utf8") };
  } catch (error) {
    throw new CliError(`error reading ${path}: ${(error as Error).message}`);
  }
}
