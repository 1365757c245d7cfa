/**
 * What a container writes to stdout and stderr. It writes itself, so that it goes on when the node is gone; therefore the
 * file lies on the pod's own disk, where it takes the pod's room and not the machine's, and where it was asked for is a
 * link to it. When the container is replaced the end of its log takes the link's place, and its room is the pod's again.
 */
import { closeSync, constants, fchownSync, lstatSync, mkdirSync, openSync, renameSync, rmSync, statSync, symlinkSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { copyTree } from "#engines/embedded/node/linux/mounts.ts";
import { hasCode } from "#lib/native/files.ts";

export interface LogPlace {
  /** The pod's disk. */
  readonly disk: string;
  readonly id: string;
  /** Where the log is looked for. */
  readonly link: string;
}

/** So much of a log is kept when its container goes. */
const keptBytes = 10 * 2 ** 20;
const chunkBytes = 2 ** 20;

function fileOf({ disk, id }: LogPlace): string {
  return join(disk, "logs", id);
}

/**
 * Opens a new log that `owner` may write to. It is opened through a detached mount: a sandbox can read the file's path below its
 * mount in `/proc/1/fd`, and so sees no path of the machine.
 */
export function openContainerLog(place: LogPlace, owner: number): number {
  mkdirSync(join(place.disk, "logs"), { recursive: true, mode: 0o700 });
  rmSync(place.link, { force: true });
  symlinkSync(fileOf(place), place.link);
  const folder = copyTree(join(place.disk, "logs"));
  try {
    const log = openSync(`/proc/self/fd/${folder}/${place.id}`, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND, 0o600);
    // Its own, so that it may open it again by name.
    fchownSync(log, owner, owner);
    return log;
  } finally {
    closeSync(folder);
  }
}

/** Puts the end of the log where the link was, and takes the log off the pod's disk. May be repeated. */
export async function keepContainerLog(place: LogPlace): Promise<void> {
  if (isLink(place.link)) {
    const copied = await copyEnd(fileOf(place), `${place.link}.new`);
    if (copied) renameSync(`${place.link}.new`, place.link);
    else rmSync(place.link, { force: true });
  }
  rmSync(fileOf(place), { force: true });
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

/** False if there is nothing to copy, or no longer a place to copy it to. */
async function copyEnd(from: string, to: string): Promise<boolean> {
  try {
    await using source = await open(from, "r");
    await using target = await open(to, "w", 0o600);
    const { size } = statSync(from);
    const buffer = Buffer.alloc(Math.min(chunkBytes, size));
    let position = Math.max(0, size - keptBytes);
    // Read to the known size and not to the end: a process that still writes must not keep this loop going.
    while (position < size) {
      const { bytesRead } = await source.read(buffer, 0, Math.min(buffer.length, size - position), position);
      if (bytesRead === 0) break;
      await target.write(buffer, 0, bytesRead);
      position += bytesRead;
    }
    return true;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return false;
    throw error;
  }
}
