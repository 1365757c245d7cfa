/**
 * Mounts as the node needs them. A *tree* is a descriptor of a mount that hangs nowhere yet: it can be given an id map
 * or flags and is then attached. Whatever is mounted here is meant to be taken away again soon: a container keeps the
 * copies that its own mount namespace got when it was created.
 */
import { closeSync, constants, lstatSync, openSync, rmdirSync, unlinkSync } from "node:fs";
import { systemCall, unmountOffThread } from "./libc.ts";
import { hasCode } from "#lib/native/files.ts";

const currentFolder = -100;
const emptyPath = 0x1000;
const cloneTree = 0x1 | 0x80000;
const moveFromEmptyPath = 0x4;

/** `MOUNT_ATTR_*`. */
const attributes = { readOnly: 0x1n, noSuid: 0x2n, noDev: 0x4n, noExec: 0x8n, idMap: 0x10_0000n } as const;
export type MountFlag = Exclude<keyof typeof attributes, "idMap">;

/** `MS_*`, for file systems. */
const mountFlags = { readOnly: 0x1, noSuid: 0x2, noDev: 0x4, noExec: 0x8 } satisfies Record<MountFlag, number>;
const makePrivate = 1 << 18;
const detachLazily = 2;

/** A copy of what is seen at `path` (a folder, a file, a namespace), hanging nowhere yet. */
export function copyTree(path: string): number {
  return systemCall("open_tree", [currentFolder, path, cloneTree], path);
}

export interface TreeAttributes {
  readonly flags?: readonly MountFlag[];
  /** User namespace by whose id map owners are seen through this mount. */
  readonly idMap?: number | undefined;
}

export function setTreeAttributes(tree: number, { flags = [], idMap }: TreeAttributes): void {
  let set = idMap === undefined ? 0n : attributes.idMap;
  for (const flag of flags) set |= attributes[flag];
  // struct mount_attr: attr_set, attr_clr, propagation, userns_fd.
  const wanted = Buffer.alloc(32);
  wanted.writeBigUInt64LE(set, 0);
  wanted.writeBigUInt64LE(BigInt(idMap ?? 0), 24);
  systemCall(
    "mount_setattr",
    [tree, "", emptyPath, wanted, wanted.length],
    `flags ${flags.join(",")}${idMap === undefined ? "" : " and id map"}`,
  );
}

function attachTree(tree: number, target: string): void {
  systemCall("move_mount", [tree, "", currentFolder, target, moveFromEmptyPath], `to ${target}`);
}

/** Takes a mount away from one place and puts it at another. */
export function moveMount(from: string, to: string): void {
  systemCall("move_mount", [currentFolder, from, currentFolder, to, 0], `${from} to ${to}`);
}

/** Shows `source` at `target` too. */
export function bindMount(source: string, target: string, wanted: TreeAttributes = {}): void {
  const tree = copyTree(source);
  try {
    if (wanted.idMap !== undefined || (wanted.flags ?? []).length > 0) setTreeAttributes(tree, wanted);
    attachTree(tree, target);
  } finally {
    closeSync(tree);
  }
}

export interface FileSystem {
  readonly type: string;
  readonly source: string;
  readonly target: string;
  readonly flags?: readonly MountFlag[];
  readonly options?: Readonly<Record<string, string | number | true>>;
}

export function mountFileSystem({ type, source, target, flags = [], options = {} }: FileSystem): void {
  const data = Object.entries(options)
    .map(([name, value]) => (value === true ? name : `${name}=${value}`))
    .join(",");
  const bits = flags.reduce((sum, flag) => sum | mountFlags[flag], 0);
  systemCall("mount", [source, target, type, bits, data], `${type} on ${target} (${data})`);
}

/** Mounts and unmounts below `target` from now on concern this mount namespace only. */
export function keepMountsPrivate(target: string): void {
  systemCall("mount", ["none", target, null, makePrivate, null], `private propagation of ${target}`);
}

/** Detaches the mount at `target`; processes that still use it keep it. False if nothing is mounted there. */
export function detachMount(target: string): boolean {
  try {
    systemCall("umount2", [target, detachLazily], target);
    return true;
  } catch (error) {
    if (hasCode(error, "EINVAL", "ENOENT")) return false;
    throw error;
  }
}

/** Detaches what is mounted at a folder or file and removes that, if it is there. */
export function removeMountPoint(target: string): void {
  detachMount(target);
  removeIfPresent(target);
}

/** The same on another thread: the last user of a file system on disk waits until everything is written. */
export async function removeDiskMountPoint(target: string): Promise<void> {
  if (!(await unmountOffThread(target, detachLazily))) detachMount(target);
  removeIfPresent(target);
}

function removeIfPresent(target: string): void {
  try {
    // Not with what is below it: that would be what is mounted there, if it still is.
    if (lstatSync(target).isDirectory()) rmdirSync(target);
    else unlinkSync(target);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
}

export interface Overlay {
  /** Topmost first. One is enough if there is an upper. */
  readonly lowers: readonly string[];
  readonly upper?: { readonly folder: string; readonly work: string };
  readonly target: string;
  readonly flags?: readonly MountFlag[];
}

/**
 * Mounts an overlay whose options name descriptors instead of paths: `/proc/mounts` inside a container shows the options, and they
 * must not reveal the host's paths. Descriptors also keep many layers within the one page that mount(2) takes. `volatile`: such an
 * upper is never mounted a second time, so nothing has to reach the disk in order.
 */
export function mountOverlay({ lowers, upper, target, flags = ["noDev"] }: Overlay): void {
  const opened: number[] = [];
  const named = (path: string): string => {
    const descriptor = openSync(path, constants.O_DIRECTORY | oPath);
    opened.push(descriptor);
    return `/proc/self/fd/${descriptor}`;
  };
  try {
    const lowerdir = lowers.map(named).join(":");
    const writable = upper === undefined ? {} : { upperdir: named(upper.folder), workdir: named(upper.work), volatile: true as const };
    mountFileSystem({ type: "overlay", source: "overlay", target, flags, options: { lowerdir, ...writable, ...plainLayers } });
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

/** What other machines' defaults may add to an upper cannot be said in an image layer. */
const plainLayers = { redirect_dir: "off", metacopy: "off", index: "off" } as const;

/** O_PATH: names a place without opening it. */
const oPath = 0x20_0000;
