/** Reads a backup into an empty folder, and checks every byte of it on the way. */
import { createHash, type Hash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { chmod, mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { extract, type Entry } from "tar-stream";
import { CliError } from "#cli/failure.ts";
import type { BackupStep } from "#cli/machine-backups.ts";
import { type BackupFile, type BackupManifest, manifestName, manifestSumName, maxManifestBytes, readManifest } from "./manifest.ts";

export interface UnpackRequest {
  readonly source: Readable;
  /** Of the source, for messages. */
  readonly name: string;
  /** Of the AgentBox that is to restore it. */
  readonly version: string;
  /** Files land in it by their paths in the backup. */
  readonly folder: string;
  readonly onProgress: (step: BackupStep) => void;
  readonly signal: AbortSignal;
}

/** Throws CliError when anything is missing, more than promised, or not as the manifest says. */
export async function unpackBackup(request: UnpackRequest): Promise<BackupManifest> {
  const { source, name, signal } = request;
  const tar = extract();
  const over = new AbortController();
  // What goes wrong in the source is told to the one that reads the entries.
  pipeline(source, tar, { signal: AbortSignal.any([signal, over.signal]) }).catch(() => {});
  try {
    return await unpacked(tar[Symbol.asyncIterator](), request);
  } catch (error) {
    signal.throwIfAborted();
    throw explained(error, name);
  } finally {
    over.abort();
  }
}

/** What the disk refuses is no fault of the backup. */
function explained(error: unknown, name: string): Error {
  if (error instanceof CliError) return new CliError(`${name} cannot be restored: ${error.message}`, { cause: error });
  if (error instanceof Error && "syscall" in error) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new CliError(`${name} is damaged, or not a backup of AgentBox: ${why}`, { cause: error });
}

async function unpacked(entries: AsyncIterator<Entry>, request: UnpackRequest): Promise<BackupManifest> {
  const text = await smallEntry(entries, manifestName);
  const sum = await smallEntry(entries, manifestSumName);
  if (sum.trim() !== createHash("sha256").update(text).digest("hex")) {
    throw new CliError(`it is damaged: ${manifestName} is not what ${manifestSumName} says`);
  }
  const manifest = readManifest(text, request.version);
  for (const file of manifest.files) await unpackFile(await nextEntry(entries, file.path), file, request);
  const { value: more } = (await entries.next()) as { value?: Entry };
  if (more !== undefined)
    throw new CliError(`it is damaged: it holds ${JSON.stringify(more.header.name)}, which its ${manifestName} does not name`);
  return manifest;
}

async function smallEntry(entries: AsyncIterator<Entry>, name: string): Promise<string> {
  const entry = await nextEntry(entries, name);
  if ((entry.header.size ?? 0) > maxManifestBytes) throw new CliError(`its ${name} is too large`);
  const chunks: Buffer[] = [];
  for await (const chunk of entry as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

async function nextEntry(entries: AsyncIterator<Entry>, name: string): Promise<Entry> {
  const { value, done } = (await entries.next()) as { value?: Entry; done?: boolean };
  if (done === true || value === undefined) {
    throw new CliError(name === manifestName ? "it is no backup of AgentBox: it is empty" : `it is damaged: it ends before ${name}`);
  }
  if (value.header.name === name && value.header.type === "file") return value;
  const found = JSON.stringify(value.header.name);
  throw new CliError(
    name === manifestName
      ? `it is no backup of AgentBox: it begins with ${found}, not ${name}`
      : `it is damaged: ${found} stands where ${name} should be`,
  );
}

async function unpackFile(
  entry: Entry,
  { path, bytes, sha256, mode }: BackupFile,
  { folder, onProgress, signal }: UnpackRequest,
): Promise<void> {
  if (entry.header.size !== bytes)
    throw new CliError(`it is damaged: ${path} has ${entry.header.size} bytes, and its ${manifestName} says ${bytes}`);
  const target = join(folder, path);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  const hash = createHash("sha256");
  const counted = counting(hash, (done) => onProgress({ doing: `reading ${path}`, done, total: bytes, unit: "bytes" }));
  await pipeline(entry, counted, createWriteStream(target, { flags: "wx", mode, flush: true }), { signal });
  // Whatever the process's mask is.
  await chmod(target, mode);
  if (hash.digest("hex") !== sha256) throw new CliError(`it is damaged: the content of ${path} is not what its ${manifestName} says`);
}

function counting(hash: Hash, told: (done: number) => void): Transform {
  let done = 0;
  return new Transform({
    transform: (chunk: Buffer, _, pass) => {
      hash.update(chunk);
      told((done += chunk.length));
      pass(null, chunk);
    },
  });
}
