/** Files for SWE-ReX's client: read and written as texts, and uploaded. */
import { createWriteStream } from "node:fs";
import { chown, copyFile, lstat, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Account } from "#envd/accounts/accounts.ts";
import { codeOf } from "#envd/files/file-failure.ts";
import { makeFolders } from "#envd/files/make-folders.ts";
import type { Part } from "#envd/files/multipart.ts";
import { PythonError, systemError } from "./python-error.ts";
import { InvalidBody } from "./requests.ts";
import { unzip } from "./unzip.ts";

/** The bound for texts: daemon and client hold each of them in memory several times. */
const largestText = 256 * 1024 * 1024;
const longestField = 64 * 1024;

export interface TextRequest {
  readonly path: string;
  readonly encoding: string;
  readonly errors: string;
}

/** As Python reads texts: all line ends are `\n`. */
export async function readText({ path, encoding, errors }: TextRequest): Promise<string> {
  const { size } = await stat(path);
  if (size > largestText) throw new PythonError("memory", `${path} has ${size} bytes; texts of up to ${largestText} are read`);
  const bytes = await readFile(path).catch((error: unknown) => {
    // Node's message for this error has no path.
    throw codeOf(error) === "EISDIR" ? systemError("EISDIR", path) : error;
  });
  return decoded(bytes, encoding, errors).replaceAll(/\r\n?/g, "\n");
}

/** Names that Python knows and the decoder does not. */
const otherNames: Readonly<Record<string, string>> = { utf8: "utf-8", utf_8: "utf-8", latin_1: "latin-1", iso8859_1: "latin-1" };

function decoded(bytes: Buffer, encoding: string, errors: string): string {
  const name = encoding.toLowerCase();
  if (name === "latin-1" || name === "latin1" || otherNames[name] === "latin-1") return bytes.toString("latin1");
  if (errors === "backslashreplace" && (otherNames[name] ?? name) === "utf-8") return withEscapes(bytes);
  let decoder: TextDecoder;
  try {
    decoder = new TextDecoder(otherNames[name] ?? name, { fatal: errors === "strict", ignoreBOM: true });
  } catch {
    throw new PythonError("lookup", `unknown encoding: ${encoding}`);
  }
  try {
    const text = decoder.decode(bytes);
    return errors === "ignore" ? text.replaceAll("\uFFFD", "") : text;
  } catch {
    throw new PythonError("unicodeDecode", `'${encoding}' codec can't decode the bytes of the file: invalid data`);
  }
}

function withEscapes(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  if (!text.includes("\uFFFD")) return text;
  let [result, rest] = ["", bytes];
  while (rest.length > 0) {
    const good = goodLength(rest);
    result += rest.toString("utf8", 0, good);
    if (good < rest.length) result += `\\x${rest.readUInt8(good).toString(16).padStart(2, "0")}`;
    rest = rest.subarray(good + 1);
  }
  return result;
}

/** The number of valid bytes at the beginning. */
function goodLength(bytes: Buffer): number {
  const text = bytes.toString("utf8");
  const bad = text.indexOf("\uFFFD");
  return bad < 0 ? bytes.length : Buffer.byteLength(text.slice(0, bad));
}

export async function writeText(path: string, content: string, owner: Account): Promise<void> {
  await makeFolders(dirname(path), owner);
  const isNew = (await lstat(path).catch(() => undefined)) === undefined;
  await writeFile(path, content);
  if (isNew) await chown(path, owner.uid, owner.gid);
}

/** The file comes before the field that says where it belongs, so it waits in a folder of ours. */
export async function receiveUpload(parts: AsyncIterable<Part>, resolve: (path: string) => string, owner: Account): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "agentbox-upload-"));
  const waiting = join(folder, "file");
  try {
    const fields = new Map<string, string>();
    for await (const part of parts) {
      if (part.name === "file") {
        await pipeline(part.contents, createWriteStream(waiting));
        fields.set("file", "");
      } else fields.set(part.name ?? "", await fieldText(part));
    }
    const target = fields.get("target_path");
    if (!fields.has("file")) throw new InvalidBody("file", "Field required");
    if (target === undefined) throw new InvalidBody("target_path", "Field required");
    await place(waiting, resolve(target), { isArchive: isTrue(fields.get("unzip")), owner });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function fieldText({ contents }: Part): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of contents) {
    size += chunk.length;
    if (size > longestField) throw new InvalidBody("target_path", `has more than ${longestField} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

async function place(
  file: string,
  target: string,
  { isArchive, owner }: { readonly isArchive: boolean; readonly owner: Account },
): Promise<void> {
  await makeFolders(dirname(target), owner);
  if (isArchive) {
    await makeFolders(target, owner);
    for (const path of await unzip(file, target)) await chownTree(path, owner);
    return;
  }
  // As `shutil.move`: into a folder that is there, under the file's own name.
  const isFolder = (await stat(target).catch(() => undefined))?.isDirectory() === true;
  const to = isFolder ? join(target, "temp_file_transfer") : target;
  await rename(file, to).catch(async (error: unknown) => {
    if (codeOf(error) !== "EXDEV") throw error;
    await copyFile(file, to);
  });
  await chown(to, owner.uid, owner.gid);
}

async function chownTree(path: string, owner: Account): Promise<void> {
  await chown(path, owner.uid, owner.gid);
  if (!(await lstat(path)).isDirectory()) return;
  for (const name of await readdir(path)) await chownTree(join(path, name), owner);
}

function isTrue(text = "false"): boolean {
  return ["true", "1", "yes", "on"].includes(text.toLowerCase());
}
