/** Files and folders of a sandbox, by its daemon. Relative paths are in the user's home. */
import { GrowingBuffer } from "#lib/growing-buffer.ts";
import { ServiceError } from "../service-error.ts";
import { asUser, bodyOf, type DaemonDoor, refusalOf } from "./daemon-door.ts";

export interface ReadFile {
  readonly path: string;
  readonly user?: string;
  /** In bytes. */
  readonly offset: number;
  readonly length: number;
}

export interface FilePart {
  readonly bytes: Buffer;
  /** Of the whole file. */
  readonly size: number;
}

export interface WriteFile {
  readonly path: string;
  readonly user?: string;
  readonly bytes: Buffer;
}

export interface ListFolder {
  readonly path: string;
  readonly user?: string;
  readonly depth: number;
}

export interface EntryAt {
  readonly path: string;
  readonly user?: string | undefined;
}

export interface MoveEntry extends EntryAt {
  readonly to: string;
}

export interface FileEntry {
  readonly path: string;
  readonly type: "file" | "folder" | "link" | "other";
  readonly size: number;
}

export async function readFile(door: DaemonDoor, { path, user, offset, length }: ReadFile, signal: AbortSignal): Promise<FilePart> {
  const headers = { range: `bytes=${offset}-${offset + length - 1}`, "accept-encoding": "identity" };
  const answer = await door.ask({ method: "GET", path: filePath(path, user), headers }, signal);
  const total = /\/(\d+)$/.exec(String(answer.headers["content-range"] ?? ""))?.[1];
  // Beyond the end, and in an empty file, there is no range.
  if (answer.status === 416) return { bytes: Buffer.alloc(0), size: Number(total ?? 0) };
  if (answer.status !== 200 && answer.status !== 206) throw await refusalOf(answer, path);
  const bytes = await beginning(answer.body, length);
  return { bytes, size: total === undefined ? Math.max(bytes.length, Number(answer.headers["content-length"] ?? 0)) : Number(total) };
}

/** A file of /proc does not say how long it is, and may have no end. */
async function beginning(body: AsyncIterable<Buffer>, length: number): Promise<Buffer> {
  const read = new GrowingBuffer();
  for await (const chunk of body) {
    read.add(chunk.subarray(0, length - read.size));
    if (read.size >= length) break;
  }
  return read.bytes();
}

export async function writeFile(door: DaemonDoor, { path, user, bytes }: WriteFile, signal: AbortSignal): Promise<void> {
  const headers = { "content-type": "application/octet-stream", "content-length": String(bytes.length) };
  const answer = await door.ask({ method: "POST", path: filePath(path, user), headers, body: bytes }, signal);
  if (answer.status !== 200) throw await refusalOf(answer, path);
  await bodyOf(answer, 64 * 1024);
}

/** Also what is in it. */
export function removeEntry(door: DaemonDoor, { path, user }: EntryAt, signal: AbortSignal): Promise<void> {
  return change(door, "Remove", { path, user, message: { path } }, signal);
}

export function makeFolder(door: DaemonDoor, { path, user }: EntryAt, signal: AbortSignal): Promise<void> {
  return change(door, "MakeDir", { path, user, message: { path } }, signal);
}

export function moveEntry(door: DaemonDoor, { path, to, user }: MoveEntry, signal: AbortSignal): Promise<void> {
  return change(door, "Move", { path, user, message: { source: path, destination: to } }, signal);
}

interface FileChange extends EntryAt {
  readonly message: object;
}

async function change(door: DaemonDoor, method: string, { path, user, message }: FileChange, signal: AbortSignal): Promise<void> {
  const headers = { "content-type": "application/json", ...asUser(user) };
  const body = JSON.stringify(message);
  const answer = await door.ask({ method: "POST", path: `/filesystem.Filesystem/${method}`, headers, body }, signal);
  if (answer.status !== 200) throw await refusalOf(answer, path);
  await bodyOf(answer, 64 * 1024);
}

function filePath(path: string, user: string | undefined): string {
  if (path === "") throw new ServiceError("invalid_request", "path must name a file", { field: "path" });
  return `/files?${new URLSearchParams({ path, ...(user !== undefined && { username: user }) }).toString()}`;
}

const types: Readonly<Partial<Record<string, FileEntry["type"]>>> = {
  FILE_TYPE_FILE: "file",
  FILE_TYPE_DIRECTORY: "folder",
  FILE_TYPE_SYMLINK: "link",
};

interface ListAnswer {
  readonly entries?: readonly { readonly path?: unknown; readonly type?: unknown; readonly size?: unknown }[];
}

/** A sandbox's root can make its daemon answer anything. */
function entriesIn(text: string): readonly FileEntry[] {
  try {
    const { entries = [] } = JSON.parse(text) as ListAnswer;
    return entries.map(({ path = "", type = "", size = 0 }) => ({
      path: String(path),
      type: types[String(type)] ?? "other",
      size: Number(size) || 0,
    }));
  } catch {
    throw new ServiceError("unavailable", "the sandbox's daemon sent an invalid list");
  }
}

/** Entries of tens of thousands of files. */
const listLimit = 16 * 1024 * 1024;

export async function listFolder(door: DaemonDoor, { path, user, depth }: ListFolder, signal: AbortSignal): Promise<readonly FileEntry[]> {
  const headers = { "content-type": "application/json", ...asUser(user) };
  const body = JSON.stringify({ path, depth });
  const answer = await door.ask({ method: "POST", path: "/filesystem.Filesystem/ListDir", headers, body }, signal);
  if (answer.status !== 200) throw await refusalOf(answer, path);
  return entriesIn((await bodyOf(answer, listLimit)).toString("utf8"));
}
