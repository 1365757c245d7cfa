/** The messages of filesystem.proto as JSON has them: 64-bit numbers are texts, times RFC 3339. */

export type FileType = "FILE_TYPE_UNSPECIFIED" | "FILE_TYPE_FILE" | "FILE_TYPE_DIRECTORY" | "FILE_TYPE_SYMLINK";

export interface EntryInfo {
  readonly name: string;
  readonly type: FileType;
  readonly path: string;
  readonly size: string;
  /** Permission bits. */
  readonly mode: number;
  /** In the form `-rw-r--r--`. */
  readonly permissions: string;
  readonly owner: string;
  readonly group: string;
  readonly modifiedTime: string;
  readonly symlinkTarget?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface PathRequest {
  readonly path?: string;
}

export interface ListDirRequest extends PathRequest {
  readonly depth?: number;
}

export interface MoveRequest {
  readonly source?: string;
  readonly destination?: string;
}

export interface WatchRequest extends PathRequest {
  readonly recursive?: boolean;
  readonly includeEntry?: boolean;
  readonly allowNetworkMounts?: boolean;
}

export interface WatcherRequest {
  readonly watcherId?: string;
}

export type EventType = "EVENT_TYPE_CREATE" | "EVENT_TYPE_WRITE" | "EVENT_TYPE_REMOVE" | "EVENT_TYPE_RENAME" | "EVENT_TYPE_CHMOD";

export interface FilesystemEvent {
  readonly name: string;
  readonly type: EventType;
  readonly entry?: EntryInfo;
}

export type WatchDirResponse =
  | { readonly start: Record<string, never> }
  | { readonly filesystem: FilesystemEvent }
  | { readonly keepalive: Record<string, never> };
