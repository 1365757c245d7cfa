/** `agentbox restore`: unpacks a backup beside the data folder, checks it, and puts it into place in one step. */
import { createReadStream, existsSync } from "node:fs";
import { mkdir, readdir, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Readable } from "node:stream";
import { CliError } from "#cli/failure.ts";
import type { Restored, RestoreRequest } from "#cli/machine-backups.ts";
import type { HomeFolder } from "#cmd/parts/home-folder.ts";
import { noteRestored } from "#engines/embedded/node/node-life.ts";
import { nodePaths } from "#engines/embedded/node/node-paths.ts";
import type { Clock } from "#lib/clock.ts";
import { exchangePaths, hasCode } from "#lib/native/files.ts";
import { sqliteCode } from "#lib/sqlite-space.ts";
import { instanceOf } from "../embedded-node.ts";
import { isListening } from "../server-file.ts";
import { ownedDatabase } from "./copy-databases.ts";
import { unpackImages } from "./imported-images.ts";
import { syncFolder } from "./make-backup.ts";
import { type BackupManifest, dataPrefix, imagesName } from "./manifest.ts";
import { openStaging } from "./staging.ts";
import { unpackBackup } from "./unpack-backup.ts";

export interface RestoreDeps {
  readonly home: HomeFolder;
  readonly version: string;
  readonly clock: Clock;
  readonly stdin: Readable;
}

export async function restoreBackup(deps: RestoreDeps, request: RestoreRequest): Promise<Restored> {
  const { home, version, clock, stdin } = deps;
  // A data folder may be a link to where there is more room.
  const folder = await realpath(home.folder).catch(() => home.folder);
  await refuseRunning(home);
  const found = await entriesOf(folder);
  if (found.length > 0 && !request.replace) {
    throw new CliError(
      `${folder} holds data already (${shortList(found)}): restore into another folder with AGENTBOX_HOME, or put this data aside with --replace`,
    );
  }
  const source = request.file === "-" ? stdin : await opened(request.file);
  await mkdir(dirname(folder), { recursive: true });
  await using staging = await openStaging(dirname(folder), `.${basename(folder)}.restoring-`);
  const name = request.file === "-" ? "standard input" : request.file;
  const manifest = await unpackBackup({ ...request, source, name, version, folder: staging.folder });
  const fresh = join(staging.folder, dataPrefix);
  if (existsSync(join(staging.folder, imagesName))) {
    request.onProgress({ doing: "unpacking images", done: 0, total: 1, unit: "bytes" });
    await unpackImages(join(staging.folder, imagesName), join(fresh, "images"), request.signal);
    await rm(join(staging.folder, imagesName));
  }
  noteRestored(fresh, manifest.objectsAt, clock.now());
  request.signal.throwIfAborted();
  const putAside = await place(fresh, folder, { home, now: clock.now() });
  return summary(folder, manifest, putAside);
}

async function refuseRunning(home: HomeFolder): Promise<void> {
  if (await isListening(home.socketPath)) throw new CliError(`AgentBox runs on ${home.folder}: end it first with agentbox down`);
  if (existsSync(nodePaths(home.folder, instanceOf(home.folder)).run)) {
    throw new CliError(`sandboxes of ${home.folder} are still on this machine: remove them first with agentbox down`);
  }
}

async function entriesOf(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}

function shortList(names: readonly string[]): string {
  return names.length <= 4 ? names.join(", ") : `${names.slice(0, 3).join(", ")} and ${names.length - 3} more`;
}

async function opened(file: string): Promise<Readable> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) throw new CliError(`there is no file ${file}`);
  if (found.isDirectory()) throw new CliError(`${file} is a folder: give the file that agentbox backup wrote`);
  return createReadStream(file);
}

/** One rename, so that the folder has the old data or the new at every moment. Resolves with where the old data is. */
async function place(
  fresh: string,
  folder: string,
  { home, now }: { readonly home: HomeFolder; readonly now: number },
): Promise<string | undefined> {
  // Until the exchange is done no server can start on the old data.
  const owned = ownedIfReadable(home.dataFile);
  try {
    const isEmpty = (await entriesOf(folder)).length === 0;
    if (isEmpty) await rename(fresh, folder);
    else exchangePaths(fresh, folder);
    await syncFolder(dirname(folder));
    if (isEmpty) return undefined;
    const aside = `${folder}.before-restore-${new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, "")}`;
    await rename(fresh, aside);
    return aside;
  } catch (error) {
    if (!hasCode(error, "EBUSY", "EXDEV")) throw error;
    throw new CliError(
      `${folder} is where a file system is mounted, and cannot be put into place as a whole: choose a folder inside it, such as AGENTBOX_HOME=${join(folder, "data")}`,
      { cause: error },
    );
  } finally {
    owned?.close();
  }
}

/** Data that is damaged may be why there is a restore. */
function ownedIfReadable(file: string): DatabaseSync | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return ownedDatabase(file);
  } catch (error) {
    if (sqliteCode(error) === undefined) throw error;
    return undefined;
  }
}

function summary(folder: string, manifest: BackupManifest, putAside: string | undefined): Restored {
  const { files, objectsAt: at, version, images, historyElsewhere } = manifest;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return { folder, files: files.length, bytes, at, version, images, historyElsewhere, putAside };
}
