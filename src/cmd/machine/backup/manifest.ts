/**
 * What a backup says of itself. It is one tar file:
 *
 * - `manifest.json`         this: format, version, time, and each file with its size and SHA-256
 * - `manifest.json.sha256`  the SHA-256 of the manifest's bytes
 * - the files in the order of the manifest, under `data/`: `objects.db`, `history.db`, keys, certificates, settings
 * - `images.tar`, if images are in it: a tar file of its own, with owners and extended attributes
 */
import { isAbsolute, normalize } from "node:path";
import { type Static, Type } from "typebox";
import { Value } from "typebox/value";
import { CliError } from "#cli/failure.ts";
import { dataFileFormat } from "#engines/embedded/store/data-file.ts";
import { migrations as historyMigrations } from "#store/sqlite/schema.ts";

export const manifestName = "manifest.json";
export const manifestSumName = "manifest.json.sha256";
export const dataPrefix = "data/";
export const imagesName = "images.tar";

/** Of the archive's layout. */
export const backupFormat = 1;
/** A manifest has about 200 bytes for each file. */
export const maxManifestBytes = 64 * 1024 ** 2;

const fileSchema = Type.Object({
  path: Type.String({ minLength: 1 }),
  bytes: Type.Integer({ minimum: 0 }),
  sha256: Type.String({ pattern: "^[0-9a-f]{64}$" }),
  /** Permissions, as a number. */
  mode: Type.Integer({ minimum: 0, maximum: 0o777 }),
});

const manifestSchema = Type.Object({
  format: Type.Integer({ minimum: 1 }),
  /** Of the AgentBox that made it. */
  version: Type.String(),
  createdAt: Type.String(),
  /** The moment whose state the objects have, in milliseconds since 1970. */
  objectsAt: Type.Number(),
  /** Formats of the databases in it. */
  databases: Type.Object({ objects: Type.Integer(), history: Type.Optional(Type.Integer()) }),
  /** Where the history is that is not in it: `PostgreSQL at HOST:PORT/DATABASE`. */
  historyElsewhere: Type.Optional(Type.String()),
  /** Names of the images in it; left out: it was made without images. */
  images: Type.Optional(Type.Array(Type.String())),
  files: Type.Array(fileSchema),
});

export type BackupManifest = Static<typeof manifestSchema>;
export type BackupFile = Static<typeof fileSchema>;

/** `own`: the version that is to restore it. Throws CliError for a backup that this version cannot restore. */
export function readManifest(text: string, own: string): BackupManifest {
  const value = parsed(text);
  // First: the rest of a newer format may have another form.
  refuseNewer(value, own);
  if (!Value.Check(manifestSchema, value)) {
    const [first] = Value.Errors(manifestSchema, value);
    throw new CliError(`its ${manifestName} has not the form it must have: ${first?.instancePath ?? ""} ${first?.message ?? ""}`.trim());
  }
  for (const { path } of value.files) checkPath(path);
  checkDatabase("objects", value.databases.objects, dataFileFormat);
  checkDatabase("history", value.databases.history ?? 0, historyMigrations.length);
  return value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CliError(`its ${manifestName} is not JSON: ${(error as Error).message}`);
  }
}

function refuseNewer(value: unknown, own: string): void {
  if (typeof value !== "object" || value === null) return;
  const format = "format" in value ? Number(value.format) : 0;
  const version = "version" in value ? String(value.version) : "";
  if (format <= backupFormat && !isNewer(version, own)) return;
  throw new CliError(`it was made by AgentBox ${version}, and this is ${own}: restore it with version ${version} or a later one`);
}

function checkDatabase(name: string, format: number, known: number): void {
  if (format <= known) return;
  throw new CliError(
    `its ${name} database has format ${format}, and this AgentBox knows up to ${known}: restore it with the version that made it`,
  );
}

/** Whether `version` comes after `own`; both as 1.2.3, with more behind that which does not count. */
export function isNewer(version: string, own: string): boolean {
  const [one, other] = [numbersOf(version), numbersOf(own)];
  for (const [at, number] of one.entries()) {
    if (number !== other[at]) return number > (other[at] ?? 0);
  }
  return false;
}

function numbersOf(version: string): readonly number[] {
  const [, ...numbers] = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version) ?? ["", "0", "0", "0"];
  return numbers.map(Number);
}

/** Every file lands inside the folder that is restored. */
function checkPath(path: string): void {
  const isInside = path === imagesName || (path.startsWith(dataPrefix) && path.length > dataPrefix.length);
  if (isInside && !isAbsolute(path) && normalize(path) === path && !path.split("/").includes("..") && !path.includes("\0")) return;
  throw new CliError(`its ${manifestName} names a file outside of the data folder: ${JSON.stringify(path)}`);
}
