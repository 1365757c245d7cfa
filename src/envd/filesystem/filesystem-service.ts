/**
 * Files and folders, except file contents (filesystem.proto).
 * - `entry-info.ts`: the description of one, - `move-entry.ts`, - `watch-service.ts`, `folder-watch.ts`, `inotify.ts`: changes,
 * - `system-failure.ts`: errors.
 */
import { lstat, rm, readdir, realpath, stat } from "node:fs/promises";
import { ConnectError } from "#envd/connect/connect-error.ts";
import type { Call, Handlers } from "#envd/connect/rpc-server.ts";
import { makeFolders } from "#envd/files/make-folders.ts";
import type { ListDirRequest, MoveRequest, PathRequest, EntryInfo } from "#envd-protocol/filesystem-messages.ts";
import { resolvedPath, type FilesystemDeps } from "./filesystem-deps.ts";
import { entryInfo, entryInfos, type EntryDeps, type Place } from "./entry-info.ts";
import { moveEntry } from "./move-entry.ts";
import { systemFailure } from "./system-failure.ts";
import { watchHandlers } from "./watch-service.ts";
import { join } from "node:path";
import { codeOf } from "#envd/files/file-failure.ts";

export function filesystemHandlers(deps: FilesystemDeps): Handlers {
  const watching = watchHandlers(deps);
  return {
    unary: {
      ...watching.unary,
      "filesystem.Filesystem/Stat": ({ path }: PathRequest, call) =>
        named(path, async () => ({ entry: await entryInfo(deps, resolvedPath(deps, call, path).path) })),
      "filesystem.Filesystem/MakeDir": ({ path }: PathRequest, call) => named(path, () => makeDir(deps, call, path)),
      "filesystem.Filesystem/ListDir": ({ path, depth }: ListDirRequest, call) =>
        named(path, async () => ({ entries: await listFolder(deps, resolvedPath(deps, call, path).path, depth ?? 0) })),
      "filesystem.Filesystem/Remove": ({ path }: PathRequest, call) =>
        named(path, async () => {
          await rm(resolvedPath(deps, call, path).path, { recursive: true, force: true });
          return {};
        }),
      "filesystem.Filesystem/Move": (request: MoveRequest, call) => named(request.source, () => move(deps, call, request)),
    },
    streamOut: watching.streamOut,
    streamIn: {},
  };
}

async function makeDir(deps: FilesystemDeps, call: Call, given: string | undefined): Promise<object> {
  const { path, account } = resolvedPath(deps, call, given);
  const found = await lstat(path).catch(() => undefined);
  if (found?.isDirectory() === true) throw new ConnectError("already_exists", `directory already exists: ${path}`);
  if (found !== undefined) throw new ConnectError("invalid_argument", `path already exists but it is not a directory: ${path}`);
  await makeFolders(path, account);
  return { entry: await entryInfo(deps, path) };
}

async function move(deps: FilesystemDeps, call: Call, { source, destination }: MoveRequest): Promise<object> {
  const from = resolvedPath(deps, call, source);
  const to = resolvedPath(deps, call, destination);
  await moveEntry(from.path, to.path, from.account);
  return { entry: await entryInfo(deps, to.path) };
}

async function named(path: string | undefined, work: () => Promise<object>): Promise<object> {
  try {
    return await work();
  } catch (error) {
    throw systemFailure(path ?? "", error);
  }
}

/** Lists a folder down to a depth, each folder before its entries, sorted by name. Throws ConnectError, or the system's error. */
async function listFolder(deps: EntryDeps, path: string, depth: number): Promise<EntryInfo[]> {
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
    // A subfolder that has vanished or cannot be read is shown without contents.
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
