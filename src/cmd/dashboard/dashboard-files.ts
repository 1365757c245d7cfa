/**
 * The built web console: from the folder beside the sources that an image brings, from an earlier build on this machine, or built now. A
 * build takes a second or two and is kept; a request that comes before it is ready waits for it.
 */
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ConsoleFile, ConsoleFiles } from "#api/console/console-files.ts";
import type { Logger } from "#lib/log.ts";
import type { BuiltFiles } from "./build-dashboard.ts";

const repository = join(import.meta.dirname, "../../..");
/** Made with an image, which has no bundler. */
const shippedFolder = join(repository, "dashboard");
const cacheFolder = join(repository, "node_modules/.agentbox-dashboard");

const contentTypes: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
};

export function dashboardFiles(log: Pick<Logger, "info" | "error">): ConsoleFiles {
  let files: Promise<BuiltFiles> | undefined;
  const built = (): Promise<BuiltFiles> => {
    files ??= builtFiles(log).catch((error: unknown) => {
      // Whatever it was, the next request tries again.
      files = undefined;
      throw error;
    });
    return files;
  };
  // Begun now, so that the first page need not wait for it.
  built().catch((error: unknown) => log.error({ error }, "the console could not be built"));
  return {
    page: async () => (await built()).get("index.html")?.toString("utf8") ?? "",
    asset: async (name) => fileIn(await built(), name),
  };
}

function fileIn(files: BuiltFiles, name: string): ConsoleFile | undefined {
  const contentType = contentTypes[name.split(".").at(-1) ?? ""];
  const [bytes, gzip, brotli] = [files.get(name), files.get(`${name}.gz`), files.get(`${name}.br`)];
  if (bytes === undefined || contentType === undefined) return undefined;
  return { contentType, bytes, ...(gzip && { gzip }), ...(brotli && { brotli }) };
}

async function builtFiles(log: Pick<Logger, "info">): Promise<BuiltFiles> {
  const shipped = await readFolder(shippedFolder);
  if (shipped !== undefined) return shipped;
  const folder = join(cacheFolder, await sourceKey());
  const kept = await readFolder(folder);
  if (kept !== undefined) return kept;
  const { buildDashboard } = await import("./build-dashboard.ts");
  const files = await buildDashboard();
  log.info({ files: files.size }, "console built");
  // A folder that cannot be written costs a build at every start.
  await keep(folder, files).catch(() => {});
  return files;
}

async function keep(folder: string, files: BuiltFiles): Promise<void> {
  await rm(cacheFolder, { recursive: true, force: true });
  await mkdir(cacheFolder, { recursive: true });
  await writeFiles(folder, files);
}

/** Whole or not at all. */
async function writeFiles(folder: string, files: BuiltFiles): Promise<void> {
  const unfinished = await mkdtemp(`${folder}.`);
  await Promise.all([...files].map(([name, bytes]) => writeFile(join(unfinished, name), bytes)));
  await rename(unfinished, folder);
}

async function readFolder(folder: string): Promise<BuiltFiles | undefined> {
  const names = await readdir(folder).catch(() => undefined);
  if (names === undefined || !names.includes("index.html")) return undefined;
  return new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)));
}

/** Of everything that can stand in the bundle. */
async function sourceKey(): Promise<string> {
  const hash = createHash("sha256");
  const folders = ["dashboard", "client", "model", "lib", "cmd/dashboard"].map((name) => join(repository, "src", name));
  const files = (await Promise.all(folders.map(filesBelow))).flat();
  for (const path of [...files.sort(), join(repository, "package-lock.json")]) {
    const { size, mtimeMs } = await stat(path);
    hash.update(`${path} ${size} ${mtimeMs}\n`);
  }
  return hash.digest("hex").slice(0, 16);
}

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
