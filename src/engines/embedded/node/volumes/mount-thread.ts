/**
 * The thread that mounts into containers. To enter a container's mount namespace a thread must have a root and a working folder of its own, so this is
 * not done on a thread that does anything else: when it hangs or dies there, nothing else of this process stands in a sandbox.
 *
 * What it walks over belongs to the sandbox's image, and perhaps to the sandbox: each part of a path is opened on its own, and no link is followed.
 */
import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { hasCode } from "#lib/native/files.ts";
import { systemCall } from "../linux/libc.ts";
import { openBelow, stayBelow } from "../linux/open-below.ts";

/** A tree that hangs nowhere is to be mounted at a path in a mount namespace; both are open descriptors. */
export interface MountOrder {
  readonly id: number;
  readonly namespace: number;
  readonly tree: number;
  readonly path: string;
  /** The user outside who is root inside: folders on the way that are not there are made for it. */
  readonly owner: number;
}

export type MountAnswer = { readonly id: number; readonly failure?: string };

const ownFileSystemInfo = 0x200;
const mountKind = 0x2_0000;
const emptyPath = 0x1000;
const fromEmptyPath = 0x4;
const toEmptyPath = 0x40;
const oPath = 0x20_0000;

function carryOut(home: number, { namespace, tree, path, owner }: MountOrder): void {
  systemCall("setns", [namespace, mountKind], "the sandbox's mount namespace");
  try {
    const target = folderAt(path, owner);
    try {
      const [there, wanted] = [fstatSync(target), fstatSync(tree)];
      // Mounted by a process that died before it could say so.
      if (there.dev === wanted.dev && there.ino === wanted.ino) return;
      systemCall("move_mount", [tree, "", target, "", fromEmptyPath | toEmptyPath], path);
    } finally {
      closeSync(target);
    }
  } finally {
    systemCall("setns", [home, mountKind], "back");
  }
}

/** Opens the folder at the path, and makes what of it is not there. */
function folderAt(path: string, owner: number): number {
  let folder = openSync("/", oPath | constants.O_DIRECTORY);
  let walked = "";
  for (const part of path.split("/").slice(1)) {
    walked += `/${part}`;
    const above = folder;
    try {
      folder = enter(above, part, { walked, owner });
    } finally {
      closeSync(above);
    }
  }
  return folder;
}

function enter(above: number, part: string, { walked, owner }: { readonly walked: string; readonly owner: number }): number {
  const open = (): number => openBelow(above, part, { flags: oPath | constants.O_DIRECTORY, resolve: stayBelow });
  try {
    try {
      return open();
    } catch (error) {
      if (!hasCode(error, "ENOENT")) throw error;
    }
    systemCall("mkdirat", [above, part, 0o755], walked);
    const made = open();
    systemCall("fchownat", [made, "", owner, owner, emptyPath], walked);
    return made;
  } catch (error) {
    throw new Error(explained(error, walked), { cause: error });
  }
}

function explained(error: unknown, path: string): string {
  if (hasCode(error, "ELOOP")) return `${path} is a symbolic link in the sandbox's image: name the folder that it leads to`;
  if (hasCode(error, "ENOTDIR")) return `${path} is a file in the sandbox's image`;
  if (hasCode(error, "EROFS")) return `${path} is not there, and the sandbox's root file system is read-only`;
  return `${path} cannot be used: ${error instanceof Error ? error.message : String(error)}`;
}

if (parentPort !== null) {
  const port = parentPort;
  systemCall("unshare", [ownFileSystemInfo], "the root and the working folder of this thread");
  const home = openSync("/proc/thread-self/ns/mnt", "r");
  port.on("message", (order: MountOrder) => {
    const { id } = order;
    let answer: MountAnswer = { id };
    try {
      carryOut(home, order);
    } catch (error) {
      answer = { id, failure: error instanceof Error ? error.message : String(error) };
    }
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows of a browser
    port.postMessage(answer);
  });
}
