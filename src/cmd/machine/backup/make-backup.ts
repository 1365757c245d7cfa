/** `agentbox backup`: copies what changes while it is read, and writes all of it into one tar file. */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, open, rename, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Transform, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { pack, type Pack } from "tar-stream";
import { CliError } from "#cli/failure.ts";
import type { BackupMade, BackupRequest, BackupStep } from "#cli/machine-backups.ts";
import type { HomeFolder } from "#cmd/parts/home-folder.ts";
import type { Clock } from "#lib/clock.ts";
import { copyHistory, copyObjects, formatOf } from "./copy-databases.ts";
import { type HistorySource, stagingPrefix } from "./copy-face.ts";
import { packImages } from "./imported-images.ts";
import { keptFiles } from "./kept-files.ts";
import { type BackupFile, backupFormat, type BackupManifest, dataPrefix, imagesName, manifestName, manifestSumName } from "./manifest.ts";
import { openStaging } from "./staging.ts";

export interface MakeBackupDeps {
  readonly home: HomeFolder;
  readonly version: string;
  readonly clock: Clock;
  /** Of a server that would be started now; one that runs says where it has its own. */
  readonly history: HistorySource;
  readonly stdout: Writable;
}

/** A file of the backup, and where its content is now. */
interface Source extends BackupFile {
  readonly from: string;
}

export async function makeBackup(deps: MakeBackupDeps, request: BackupRequest): Promise<BackupMade> {
  const { home } = deps;
  if (request.file !== "-") await refuseTaken(request);
  if ((await stat(home.dataFile).catch(() => undefined)) === undefined) {
    throw new CliError(`there is nothing to back up in ${home.folder}: AgentBox was never started on it`);
  }
  await mkdir(home.runFolder, { recursive: true, mode: 0o700 });
  await using staging = await openStaging(home.runFolder, stagingPrefix);
  using objects = await copyObjects({ ...deps, staging: staging.folder, signal: request.signal, ...pages(request, "copying objects") });
  const history = await stagedHistory(objects.history, staging.folder, request);
  const images = request.images ? await stagedImages(deps, staging.folder, request) : undefined;
  const { files: kept, leftOut } = await keptFiles(home);
  const places = new Map([
    [`${dataPrefix}objects.db`, objects.file],
    ...(history.file === undefined ? [] : [[`${dataPrefix}history.db`, history.file] as const]),
    ...kept.map((name) => [`${dataPrefix}${name}`, join(home.folder, name)] as const),
    ...(images?.file === undefined ? [] : [[imagesName, images.file] as const]),
  ]);
  const sources = await described(places, request);
  const manifest: BackupManifest = {
    format: backupFormat,
    version: deps.version,
    createdAt: new Date(deps.clock.now()).toISOString(),
    objectsAt: objects.at,
    databases: { objects: formatOf(objects.file), ...(history.file === undefined ? {} : { history: formatOf(history.file) }) },
    ...(history.elsewhere === undefined ? {} : { historyElsewhere: history.elsewhere }),
    ...(images === undefined ? {} : { images: [...images.names] }),
    files: sources.map(({ path, bytes, sha256, mode }) => ({ path, bytes, sha256, mode })),
  };
  await written(deps, request, (tar) => addAll(tar, manifest, sources, request));
  const bytes = sources.reduce((sum, source) => sum + source.bytes, 0);
  return { files: sources.length, bytes, at: objects.at, images: images?.names, historyElsewhere: history.elsewhere, leftOut };
}

async function refuseTaken({ file, replace }: BackupRequest): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory() === true) throw new CliError(`${file} is a folder: give the path of a file in it`);
  if (found !== undefined && !replace) throw new CliError(`${file} is there already: choose another name, or write over it with --replace`);
  const parent = await stat(dirname(file)).catch(() => undefined);
  if (parent?.isDirectory() !== true) throw new CliError(`there is no folder ${dirname(file)}`);
}

function pages({ onProgress }: BackupRequest, doing: string): { readonly onProgress: (done: number, total: number) => void } {
  return { onProgress: (done, total) => onProgress({ doing, done, total, unit: "pages" }) };
}

async function stagedHistory(
  source: HistorySource,
  folder: string,
  request: BackupRequest,
): Promise<{ readonly file?: string; readonly elsewhere?: string }> {
  if ("elsewhere" in source) return source;
  const file = join(folder, "history.db");
  const isThere = await copyHistory(source.file, file, { signal: request.signal, ...pages(request, "copying the history") });
  return isThere ? { file } : {};
}

async function stagedImages({ home, clock }: MakeBackupDeps, folder: string, { signal, onProgress }: BackupRequest) {
  onProgress({ doing: "packing images", done: 0, total: 1, unit: "bytes" });
  const file = join(folder, imagesName);
  const names = await packImages(join(home.folder, "images"), file, { clock, signal });
  return names === undefined ? { names: [] } : { names, file };
}

/** Size and sum of every file, before the first is written: the manifest stands in front. */
async function described(places: ReadonlyMap<string, string>, request: BackupRequest): Promise<readonly Source[]> {
  const sources: Source[] = [];
  for (const [path, from] of places) {
    const { size: bytes, mode } = await stat(from);
    const hash = createHash("sha256");
    const step = byteSteps(request, `reading ${path}`, bytes);
    for await (const chunk of createReadStream(from, { signal: request.signal }) as AsyncIterable<Buffer>) {
      hash.update(chunk);
      step(chunk.length);
    }
    sources.push({ path, from, bytes, sha256: hash.digest("hex"), mode: mode & 0o777 });
  }
  return sources;
}

async function addAll(tar: Pack, manifest: BackupManifest, sources: readonly Source[], request: BackupRequest): Promise<void> {
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  const sum = createHash("sha256").update(text).digest("hex");
  tar.entry({ name: manifestName, mode: 0o600 }, text);
  tar.entry({ name: manifestSumName, mode: 0o600 }, `${sum}\n`);
  for (const source of sources) await add(tar, source, request);
  tar.finalize();
}

/** A file that changed since it was described is told at once, and not at the restore. */
async function add(tar: Pack, { path, from, bytes, sha256, mode }: Source, request: BackupRequest): Promise<void> {
  const hash = createHash("sha256");
  const step = byteSteps(request, `writing ${path}`, bytes);
  const hashed = new Transform({
    transform: (chunk: Buffer, _, done) => {
      hash.update(chunk);
      step(chunk.length);
      done(null, chunk);
    },
  });
  const changed = new CliError(`${from} changed while it was being packed: make the backup again`);
  if ((await stat(from)).size !== bytes) throw changed;
  await pipeline(createReadStream(from), hashed, tar.entry({ name: path, size: bytes, mode }), { signal: request.signal });
  if (hash.digest("hex") !== sha256) throw changed;
}

function byteSteps({ onProgress }: { readonly onProgress: (step: BackupStep) => void }, doing: string, total: number) {
  let done = 0;
  return (bytes: number): void => onProgress({ doing, done: (done += bytes), total, unit: "bytes" });
}

/** The file has its name only when all of it is on the disk. */
async function written({ stdout }: MakeBackupDeps, { file, signal }: BackupRequest, fill: (tar: Pack) => Promise<void>): Promise<void> {
  if (file === "-") return await streamed(fill, stdout, { signal, end: false });
  const name = basename(file);
  await using staging = await openStaging(dirname(file), `.${name}.partial-`);
  const partial = join(staging.folder, name);
  await streamed(fill, createWriteStream(partial, { flags: "wx", mode: 0o600, flush: true }), { signal, end: true });
  await rename(partial, file);
  await syncFolder(dirname(file));
}

async function streamed(
  fill: (tar: Pack) => Promise<void>,
  out: Writable,
  options: { readonly signal: AbortSignal; readonly end: boolean },
): Promise<void> {
  const tar = pack();
  const filled = fill(tar).catch((error: Error) => {
    tar.destroy(error);
    throw error;
  });
  const [filling, flowing] = await Promise.allSettled([filled, pipeline(tar, out, options)]);
  if (flowing.status === "rejected" && filling.status === "fulfilled") throw flowing.reason;
  if (filling.status === "rejected") throw filling.reason;
}

/** A rename is on the disk when its folder is. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
