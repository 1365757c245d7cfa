/** Describes a file, folder or link. */
import { constants, type BigIntStats } from "node:fs";
import { lstat, realpath, stat } from "node:fs/promises";
import { basename } from "node:path";
import type { Accounts } from "#envd/accounts/accounts.ts";
import type { MetadataStore } from "#envd/files/metadata.ts";
import type { EntryInfo, FileType } from "#envd-protocol/filesystem-messages.ts";

export interface EntryDeps {
  readonly accounts: Accounts;
  readonly metadata: MetadataStore;
}

/** Throws the system's error. */
export async function entryInfo(deps: EntryDeps, path: string): Promise<EntryInfo> {
  const [entry] = await entryInfos(deps, [{ path, real: path }]);
  if (entry === undefined) throw Object.assign(new Error(`no such file or directory: ${path}`), { code: "ENOENT" });
  return entry;
}

export interface Place {
  /** The path as the caller gave it. */
  readonly path: string;
  /** The path with links resolved. */
  readonly real: string;
}

/** Leaves out entries that vanished meanwhile, unless only one was requested. */
export async function entryInfos({ accounts, metadata }: EntryDeps, places: readonly Place[]): Promise<EntryInfo[]> {
  const attributes = await metadata.read(places.map(({ real }) => real));
  const entries: EntryInfo[] = [];
  for (const [index, place] of places.entries()) {
    const found = await lstat(place.real, { bigint: true }).catch((error: unknown) => {
      if (places.length === 1) throw error;
      return undefined;
    });
    if (found === undefined) continue;
    const own = attributes[index] ?? {};
    entries.push({ ...(await describe(accounts, place, found)), ...(Object.keys(own).length === 0 ? {} : { metadata: own }) });
  }
  return entries;
}

async function describe(accounts: Accounts, { path, real }: Place, found: BigIntStats): Promise<EntryInfo> {
  const link = found.isSymbolicLink() ? await linkTarget(real) : undefined;
  const mode = Number(found.mode);
  return {
    name: basename(path),
    type: link === undefined ? typeOf(found) : link.type,
    path,
    size: found.size.toString(),
    mode: (link === undefined ? mode : link.mode) & 0o777,
    permissions: permissionText(mode),
    owner: accounts.userName(Number(found.uid)),
    group: accounts.groupName(Number(found.gid)),
    modifiedTime: timeText(found.mtimeNs),
    ...(link === undefined ? {} : { symlinkTarget: link.path }),
  };
}

interface LinkTarget {
  readonly path: string;
  readonly type: FileType;
  readonly mode: number;
}

/** A link is shown as its target; a broken link has no type. */
async function linkTarget(path: string): Promise<LinkTarget> {
  try {
    const target = await realpath(path);
    const found = await stat(target, { bigint: true });
    return { path: target, type: typeOf(found), mode: Number(found.mode) };
  } catch {
    return { path, type: "FILE_TYPE_UNSPECIFIED", mode: 0 };
  }
}

function typeOf(found: BigIntStats): FileType {
  if (found.isFile()) return "FILE_TYPE_FILE";
  if (found.isDirectory()) return "FILE_TYPE_DIRECTORY";
  return found.isSymbolicLink() ? "FILE_TYPE_SYMLINK" : "FILE_TYPE_UNSPECIFIED";
}

/** RFC 3339 with up to nanoseconds. */
function timeText(nanoseconds: bigint): string {
  const seconds = new Date(Number(nanoseconds / 1_000_000n)).toISOString().slice(0, 19);
  const rest = (((nanoseconds % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n).toString().padStart(9, "0").replace(/0+$/, "");
  // In groups of three digits, as protocol buffers print it.
  return rest === "" ? `${seconds}Z` : `${seconds}.${rest.padEnd(Math.ceil(rest.length / 3) * 3, "0")}Z`;
}

const kinds: readonly (readonly [number, string])[] = [
  [constants.S_IFDIR, "d"],
  [constants.S_IFLNK, "L"],
  [constants.S_IFBLK, "D"],
  [constants.S_IFCHR, "Dc"],
  [constants.S_IFIFO, "p"],
  [constants.S_IFSOCK, "S"],
];

/** In the form that clients know: `-rw-r--r--`, `drwxr-xr-x`, `dtrwxrwxrwx`. */
export function permissionText(mode: number): string {
  const kind = kinds.find(([bits]) => (mode & constants.S_IFMT) === bits)?.[1] ?? "";
  const special = ((mode & 0o4000) === 0 ? "" : "u") + ((mode & 0o2000) === 0 ? "" : "g") + ((mode & 0o1000) === 0 ? "" : "t");
  const bits = Array.from("rwxrwxrwx")
    .map((letter, index) => ((mode & (0o400 >> index)) === 0 ? "-" : letter))
    .join("");
  return (kind + special === "" ? "-" : kind + special) + bits;
}
