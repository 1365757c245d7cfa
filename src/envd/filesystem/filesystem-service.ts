/**
 * Files and folders, but for their contents (filesystem.proto).
 * - `entry-info.ts`: what is told about one, - `list-folder.ts`, `move-entry.ts`, - `watch-service.ts`, `folder-watch.ts`, `inotify.ts`: changes,
 * - `system-failure.ts`: what went wrong.
 */
import { lstat, rm } from "node:fs/promises";
import { ConnectError } from "#envd/connect/connect-error.ts";
import type { Call, Handlers } from "#envd/connect/rpc-server.ts";
import { makeFolders } from "#envd/files/make-folders.ts";
import type { ListDirRequest, MoveRequest, PathRequest } from "#envd-protocol/filesystem-messages.ts";
import { resolvedPath, type FilesystemDeps } from "./filesystem-deps.ts";
import { entryInfo } from "./entry-info.ts";
import { listFolder } from "./list-folder.ts";
import { moveEntry } from "./move-entry.ts";
import { systemFailure } from "./system-failure.ts";
import { watchHandlers } from "./watch-service.ts";

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
