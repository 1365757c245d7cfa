/**
 * The daemon's services and messages as data, equal to process.proto and filesystem.proto: for the JSON reader, which must work without a library, and for
 * the binary codec, which builds its descriptors from it. A test compares it with the .proto files.
 */

export type Scalar = "string" | "bool" | "bytes" | "uint32" | "sint32" | "int64";

export interface Field {
  readonly number: number;
  /** A scalar, or the full name of a message or enum; `map` maps strings to strings. */
  readonly type: string;
  readonly repeated?: true;
  readonly optional?: true;
  readonly oneof?: string;
}

export type Fields = Readonly<Record<string, Field>>;

export const mapType = "map";
export const timestampType = "google.protobuf.Timestamp";

const scalars: ReadonlySet<string> = new Set(["string", "bool", "bytes", "uint32", "sint32", "int64"]);
export function isScalar(type: string): type is Scalar {
  return scalars.has(type);
}

function one(number: number, type: string): Field {
  return { number, type };
}
function many(number: number, type: string): Field {
  return { number, type, repeated: true };
}
function maybe(number: number, type: string): Field {
  return { number, type, optional: true };
}
function oneOf(oneof: string, fields: Readonly<Record<string, readonly [number, string]>>): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, [number, type]]) => [name, { number, type, oneof }]));
}

const selector = one(1, "process.ProcessSelector");
const event = { event: one(1, "process.ProcessEvent") };
const entry = { entry: one(1, "filesystem.EntryInfo") };
const path = { path: one(1, "string") };
const watched = { ...path, recursive: one(2, "bool"), include_entry: one(3, "bool"), allow_network_mounts: one(4, "bool") };
const watcher = { watcher_id: one(1, "string") };

export const messages: Readonly<Record<string, Fields>> = {
  "process.PTY": { size: one(1, "process.PTY.Size") },
  "process.PTY.Size": { cols: one(1, "uint32"), rows: one(2, "uint32") },
  "process.ProcessConfig": { cmd: one(1, "string"), args: many(2, "string"), envs: one(3, mapType), cwd: maybe(4, "string") },
  "process.ProcessSelector": oneOf("selector", { pid: [1, "uint32"], tag: [2, "string"] }),
  "process.ListRequest": {},
  "process.ProcessInfo": { config: one(1, "process.ProcessConfig"), pid: one(2, "uint32"), tag: maybe(3, "string") },
  "process.ListResponse": { processes: many(1, "process.ProcessInfo") },
  "process.StartRequest": {
    process: one(1, "process.ProcessConfig"),
    pty: maybe(2, "process.PTY"),
    tag: maybe(3, "string"),
    stdin: maybe(4, "bool"),
  },
  "process.StartResponse": event,
  "process.ConnectRequest": { process: selector },
  "process.ConnectResponse": event,
  "process.ProcessEvent": oneOf("event", {
    start: [1, "process.ProcessEvent.StartEvent"],
    data: [2, "process.ProcessEvent.DataEvent"],
    end: [3, "process.ProcessEvent.EndEvent"],
    keepalive: [4, "process.ProcessEvent.KeepAlive"],
  }),
  "process.ProcessEvent.StartEvent": { pid: one(1, "uint32") },
  "process.ProcessEvent.DataEvent": oneOf("output", { stdout: [1, "bytes"], stderr: [2, "bytes"], pty: [3, "bytes"] }),
  "process.ProcessEvent.EndEvent": {
    exit_code: one(1, "sint32"),
    exited: one(2, "bool"),
    status: one(3, "string"),
    error: maybe(4, "string"),
  },
  "process.ProcessEvent.KeepAlive": {},
  "process.UpdateRequest": { process: selector, pty: maybe(2, "process.PTY") },
  "process.UpdateResponse": {},
  "process.ProcessInput": oneOf("input", { stdin: [1, "bytes"], pty: [2, "bytes"] }),
  "process.SendInputRequest": { process: selector, input: one(2, "process.ProcessInput") },
  "process.SendInputResponse": {},
  "process.StreamInputRequest": oneOf("event", {
    start: [1, "process.StreamInputRequest.StartEvent"],
    data: [2, "process.StreamInputRequest.DataEvent"],
    keepalive: [3, "process.StreamInputRequest.KeepAlive"],
  }),
  "process.StreamInputRequest.StartEvent": { process: selector },
  "process.StreamInputRequest.DataEvent": { input: one(2, "process.ProcessInput") },
  "process.StreamInputRequest.KeepAlive": {},
  "process.StreamInputResponse": {},
  "process.SendSignalRequest": { process: selector, signal: one(2, "process.Signal") },
  "process.SendSignalResponse": {},
  "process.CloseStdinRequest": { process: selector },
  "process.CloseStdinResponse": {},
  "filesystem.EntryInfo": {
    name: one(1, "string"),
    type: one(2, "filesystem.FileType"),
    path: one(3, "string"),
    size: one(4, "int64"),
    mode: one(5, "uint32"),
    permissions: one(6, "string"),
    owner: one(7, "string"),
    group: one(8, "string"),
    modified_time: one(9, timestampType),
    symlink_target: maybe(10, "string"),
    metadata: one(11, mapType),
  },
  "filesystem.StatRequest": path,
  "filesystem.StatResponse": entry,
  "filesystem.MakeDirRequest": path,
  "filesystem.MakeDirResponse": entry,
  "filesystem.MoveRequest": { source: one(1, "string"), destination: one(2, "string") },
  "filesystem.MoveResponse": entry,
  "filesystem.ListDirRequest": { ...path, depth: one(2, "uint32") },
  "filesystem.ListDirResponse": { entries: many(1, "filesystem.EntryInfo") },
  "filesystem.RemoveRequest": path,
  "filesystem.RemoveResponse": {},
  "filesystem.FilesystemEvent": { name: one(1, "string"), type: one(2, "filesystem.EventType"), entry: maybe(3, "filesystem.EntryInfo") },
  "filesystem.WatchDirRequest": watched,
  "filesystem.WatchDirResponse": oneOf("event", {
    start: [1, "filesystem.WatchDirResponse.StartEvent"],
    filesystem: [2, "filesystem.FilesystemEvent"],
    keepalive: [3, "filesystem.WatchDirResponse.KeepAlive"],
  }),
  "filesystem.WatchDirResponse.StartEvent": {},
  "filesystem.WatchDirResponse.KeepAlive": {},
  "filesystem.CreateWatcherRequest": watched,
  "filesystem.CreateWatcherResponse": watcher,
  "filesystem.GetWatcherEventsRequest": watcher,
  "filesystem.GetWatcherEventsResponse": { events: many(1, "filesystem.FilesystemEvent") },
  "filesystem.RemoveWatcherRequest": watcher,
  "filesystem.RemoveWatcherResponse": {},
};

export const enums: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  "process.Signal": { SIGNAL_UNSPECIFIED: 0, SIGNAL_SIGKILL: 9, SIGNAL_SIGTERM: 15 },
  "filesystem.FileType": { FILE_TYPE_UNSPECIFIED: 0, FILE_TYPE_FILE: 1, FILE_TYPE_DIRECTORY: 2, FILE_TYPE_SYMLINK: 3 },
  "filesystem.EventType": {
    EVENT_TYPE_UNSPECIFIED: 0,
    EVENT_TYPE_CREATE: 1,
    EVENT_TYPE_WRITE: 2,
    EVENT_TYPE_REMOVE: 3,
    EVENT_TYPE_RENAME: 4,
    EVENT_TYPE_CHMOD: 5,
  },
};

/** Which side sends more than one message. */
export type MethodKind = "unary" | "server-stream" | "client-stream";

export const services: Readonly<Record<string, Readonly<Record<string, MethodKind>>>> = {
  "process.Process": {
    List: "unary",
    Connect: "server-stream",
    Start: "server-stream",
    Update: "unary",
    StreamInput: "client-stream",
    SendInput: "unary",
    SendSignal: "unary",
    CloseStdin: "unary",
  },
  "filesystem.Filesystem": {
    Stat: "unary",
    MakeDir: "unary",
    Move: "unary",
    ListDir: "unary",
    Remove: "unary",
    WatchDir: "server-stream",
    CreateWatcher: "unary",
    GetWatcherEvents: "unary",
    RemoveWatcher: "unary",
  },
};

/** "Start" of "process.Process" takes "process.StartRequest". */
export function requestOf(service: string, method: string): string {
  return `${service.slice(0, service.indexOf("."))}.${method}Request`;
}
export function responseOf(service: string, method: string): string {
  return `${service.slice(0, service.indexOf("."))}.${method}Response`;
}

/** Its name in JSON: "include_entry" is "includeEntry". */
export function jsonName(field: string): string {
  return field.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
