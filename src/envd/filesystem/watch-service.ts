import type { Timer } from "#lib/clock.ts";
import { ConnectError } from "#envd/connect/connect-error.ts";
import { keepaliveSeconds } from "#envd/connect/protocol-headers.ts";
import type { Call, Handlers } from "#envd/connect/rpc-server.ts";
import type { ServerStream } from "#envd/connect/server-stream.ts";
import type { FilesystemEvent, WatchDirResponse, WatcherRequest, WatchRequest } from "#envd-protocol/filesystem-messages.ts";
import { join } from "node:path";
import { entryInfo } from "./entry-info.ts";
import { resolvedPath, type FilesystemDeps } from "./filesystem-deps.ts";
import { FolderWatch, type FolderEvent } from "./folder-watch.ts";

/** Number of events kept until they are fetched; the oldest are dropped first. */
const mostKept = 10_000;
/** Unread bytes after which a client's stream is ended. */
const mostBehind = 16 * 1024 * 1024;

interface PolledWatcher {
  readonly watch: FolderWatch;
  readonly events: Promise<FilesystemEvent>[];
}

/** Watching with a stream, or by polling. */
export function watchHandlers(deps: FilesystemDeps): Pick<Handlers, "unary" | "streamOut"> {
  const watchers = new Map<string, PolledWatcher>();
  let last = 0;
  const find = ({ watcherId = "" }: WatcherRequest): PolledWatcher => {
    const watcher = watchers.get(watcherId);
    if (watcher === undefined) throw new ConnectError("not_found", `watcher with id ${watcherId} not found`);
    return watcher;
  };
  return {
    unary: {
      "filesystem.Filesystem/CreateWatcher": async (request: WatchRequest, call) => {
        const events: Promise<FilesystemEvent>[] = [];
        const watch = await open(deps, call, request, (event) => {
          events.push(event);
          if (events.length > mostKept) void events.shift();
        });
        const watcherId = `w${(last += 1)}`;
        watchers.set(watcherId, { watch, events });
        return { watcherId };
      },
      "filesystem.Filesystem/GetWatcherEvents": async (request: WatcherRequest) => {
        const { watch, events } = find(request);
        // A client that has just written asks for what that caused.
        await watch.caughtUp();
        return { events: await Promise.all(events.splice(0)) };
      },
      "filesystem.Filesystem/RemoveWatcher": async (request: WatcherRequest) => {
        find(request).watch.close();
        watchers.delete(request.watcherId ?? "");
        return {};
      },
    },
    streamOut: { "filesystem.Filesystem/WatchDir": (request: WatchRequest, call, stream) => watchDir(deps, request, call, stream) },
  };
}

/** `tell` receives the events in order; each resolves when its entry has been looked up. */
function open(
  deps: FilesystemDeps,
  call: Call,
  request: WatchRequest,
  tell: (event: Promise<FilesystemEvent>) => void,
): Promise<FolderWatch> {
  const { path } = resolvedPath(deps, call, request.path);
  const options = {
    helper: deps.helper,
    path,
    isRecursive: request.recursive ?? false,
    allowsNetwork: request.allowNetworkMounts ?? false,
  };
  const includesEntry = request.includeEntry ?? false;
  return FolderWatch.open(options, (event) => tell(includesEntry ? withEntry(deps, path, event) : Promise.resolve(event)));
}

async function withEntry(deps: FilesystemDeps, folder: string, event: FolderEvent): Promise<FilesystemEvent> {
  if (event.type === "EVENT_TYPE_REMOVE" || event.type === "EVENT_TYPE_RENAME") return event;
  const entry = await entryInfo(deps, join(folder, event.name)).catch(() => undefined);
  return entry === undefined ? event : { ...event, entry };
}

async function watchDir(deps: FilesystemDeps, request: WatchRequest, call: Call, stream: ServerStream): Promise<void> {
  const send = (message: WatchDirResponse): void => stream.send(message);
  const done = Promise.withResolvers<void>();
  const every = keepaliveSeconds(call.headers) * 1000;
  let timer: Timer | undefined;
  const rest = (): void => {
    timer?.cancel();
    timer = deps.clock.after(every, () => {
      send({ keepalive: {} });
      rest();
    });
  };
  let turn: Promise<void> = Promise.resolve();
  const started = Promise.withResolvers<void>();
  const sendNext = async (before: Promise<void>, event: Promise<FilesystemEvent>): Promise<void> => {
    await Promise.all([before, started.promise]);
    send({ filesystem: await event });
    rest();
    if (stream.backlog > mostBehind) done.reject(new ConnectError("resource_exhausted", "the events were read too slowly; watch again"));
  };
  const watch = await open(deps, call, request, (event) => {
    turn = sendNext(turn, event);
  });
  send({ start: {} });
  started.resolve();
  rest();
  stream.gone.addEventListener("abort", () => done.resolve(), { once: true });
  const limit = call.timeoutMs;
  const end =
    limit === undefined || limit === 0
      ? undefined
      : deps.clock.after(Math.min(limit, 2 ** 31 - 1), () =>
          done.reject(new ConnectError("deadline_exceeded", `the watch is over after ${limit / 1000} s`)),
        );
  try {
    await done.promise;
  } finally {
    timer?.cancel();
    end?.cancel();
    watch.close();
  }
}
