/** The files in a volume, while no sandbox runs or while some do. Every step is on open descriptors (inside-volume.ts). */
import { randomBytes } from "node:crypto";
import { closeSync, constants, createReadStream, fstatSync } from "node:fs";
import { chmod, lstat, mkdir, open, opendir, readlink, rename, stat, unlink } from "node:fs/promises";
import type { Stats } from "node:fs";
import { Readable } from "node:stream";
import { type Attributes, type VolumeEntry, VolumeFileError, type VolumeFiles, type Volumes } from "#engine-port/volumes.ts";
import { systemCall } from "#engines/embedded/node/linux/libc.ts";
import { openBelow, stayBelow } from "#engines/embedded/node/linux/open-below.ts";
import { CommandError, runCommand } from "#engines/embedded/node/linux/run-command.ts";
import { hasCode } from "#lib/native/files.ts";
import { openNamed, openToRead, partsOf, pathOf, type Place, plainly, withOpen, withPlace } from "./inside-volume.ts";
import type { VolumeDisks } from "./volume-disks.ts";

/** Without a wish: any user of a sandbox may use what is made from outside. */
const usualModes = { file: 0o666, folder: 0o777 } as const;
const oTmpfile = 0x41_0000;
const followLink = 0x400;
const currentFolder = -100;

export function volumesOf(disks: VolumeDisks): Volumes {
  return {
    make: (uid, sizeBytes) => disks.make(uid, sizeBytes),
    remove: (uid) => disks.remove(uid),
    usedBytes: (uid) => disks.usedBytes(uid),
    files: volumeFiles(disks),
  };
}

export function volumeFiles(disks: Pick<VolumeDisks, "open">): VolumeFiles {
  const at = async <T>(uid: string, path: string, use: (place: Place) => Promise<T>): Promise<T> => {
    const top = await disks.open(uid);
    try {
      return await withPlace(top, path, use);
    } catch (error) {
      throw plainly(path, error);
    }
  };
  return {
    stat: (uid, path) => at(uid, path, entryAt),
    list: (uid, path, wanted) =>
      at(uid, path, (place) =>
        withOpen(openNamed(place, constants.O_DIRECTORY), (folder) => listed(folder, { ...wanted, path: place.path })),
      ),
    makeFolder: async (uid, path, wanted) => {
      const parts = partsOf(path);
      if (wanted.force) {
        for (let depth = 1; depth < parts.length; depth++)
          await at(uid, `/${parts.slice(0, depth).join("/")}`, (place) => madeFolder(place, { force: true }));
      }
      return at(uid, path, (place) => madeFolder(place, wanted));
    },
    read: async (uid, path) => {
      const file = openToRead(await disks.open(uid), path);
      const found = fstatSync(file);
      if (found.isFile()) return { sizeBytes: found.size, content: contentOf(file, found.size) };
      closeSync(file);
      throw new VolumeFileError("busy", `${JSON.stringify(path)} is ${found.isDirectory() ? "a folder" : "no regular file"}`);
    },
    write: (uid, path, content, wanted) => at(uid, path, (place) => written(place, content, wanted)),
    change: (uid, path, wanted) =>
      at(uid, path, async (place) => {
        await withOpen(openNamed(place), (found) => changed(found, place, wanted));
        return entryAt(place);
      }),
    remove: (uid, path) => at(uid, path, removed),
  };
}

/** Of the size that was told, also when it grows meanwhile: what comes beyond it would be read as the next answer on the connection. */
function contentOf(file: number, size: number): Readable {
  if (size > 0) return createReadStream("", { fd: file, autoClose: true, start: 0, end: size - 1 });
  closeSync(file);
  return Readable.from([]);
}

async function entryAt(place: Place): Promise<VolumeEntry> {
  const { folder, name, path } = place;
  const found = name === "" ? await stat(pathOf(folder)) : await lstat(pathOf(folder, name));
  const target = found.isSymbolicLink() ? await readlink(pathOf(folder, name)) : undefined;
  return entryOf(found, { name, path, target });
}

function entryOf(
  found: Stats,
  { name, path, target }: { readonly name: string; readonly path: string; readonly target: string | undefined },
): VolumeEntry {
  return {
    name,
    path,
    type: found.isFile() ? "file" : found.isDirectory() ? "directory" : found.isSymbolicLink() ? "symlink" : "unknown",
    sizeBytes: found.size,
    uid: found.uid,
    gid: found.gid,
    mode: found.mode & 0o7777,
    accessedAt: found.atime,
    modifiedAt: found.mtime,
    changedAt: found.ctime,
    ...(target === undefined ? {} : { target }),
  };
}

interface Listing {
  readonly path: string;
  readonly depth: number;
  readonly most: number;
}

/** One level after the other: however deep a tree is, no more than two folders of it are open. */
async function listed(folder: number, { path, depth, most }: Listing): Promise<readonly VolumeEntry[]> {
  const found: VolumeEntry[] = [];
  const left: { readonly below: string; readonly levels: number }[] = [{ below: "", levels: depth }];
  for (let next = left.shift(); next !== undefined; next = left.shift()) {
    const { below, levels } = next;
    for (const entry of await entriesIn(folder, joined(path, below), { below, most: most - found.length })) {
      found.push(entry);
      if (entry.type === "directory" && levels > 1) left.push({ below: joined(below, entry.name), levels: levels - 1 });
    }
  }
  return found;
}

/** Of a folder below an open one: nothing if it is gone by now. */
async function entriesIn(
  folder: number,
  path: string,
  { below, most }: { readonly below: string; readonly most: number },
): Promise<VolumeEntry[]> {
  const opened = openIfThere(folder, below);
  if (opened === undefined) return [];
  return withOpen(opened, async () => {
    const names = await namesIn(opened, most);
    if (names === undefined)
      throw new VolumeFileError("too_many", `there is too much below ${JSON.stringify(path)}: list a folder in it, or less depth`);
    const entries = await Promise.all(names.map((name) => entryAt({ folder: opened, name, path: joined(path, name) }).catch(unlessGone)));
    return entries.filter((entry) => entry !== undefined);
  });
}

/** Sorted; undefined if there are more than `most`. No more are read: a volume has room for a million of them. */
async function namesIn(folder: number, most: number): Promise<readonly string[] | undefined> {
  const names: string[] = [];
  for await (const { name } of await opendir(pathOf(folder))) {
    if (names.length >= most) return undefined;
    names.push(name);
  }
  return names.sort();
}

function joined(path: string, name: string): string {
  if (name === "") return path;
  return path === "" || path === "/" ? `${path}${name}` : `${path}/${name}`;
}

function openIfThere(folder: number, below: string): number | undefined {
  try {
    return openBelow(folder, below === "" ? "." : below, { flags: constants.O_DIRECTORY, resolve: stayBelow });
  } catch (error) {
    return unlessGone(error);
  }
}

/** A sandbox removed it, or put something else there. */
function unlessGone(error: unknown): undefined {
  if (hasCode(error, "ENOENT", "ENOTDIR", "ELOOP", "EXDEV")) return undefined;
  throw error;
}

async function madeFolder(
  place: Place,
  { force, mode = usualModes.folder, ...wanted }: Attributes & { readonly force: boolean },
): Promise<VolumeEntry> {
  const { folder, name, path } = place;
  const isThere = name === "" || !(await makeOne(pathOf(folder, name), force));
  const opened = openNamed(place, constants.O_DIRECTORY);
  return withOpen(opened, async () => {
    if (isThere && !force) throw new VolumeFileError("busy", `${JSON.stringify(path)} is there already`);
    if (!isThere) await changed(opened, place, { mode, uid: 0, gid: 0, ...withoutNothing(wanted) });
    return entryAt(place);
  });
}

/** False if something of that name is there and that is no failure. */
async function makeOne(path: string, force: boolean): Promise<boolean> {
  try {
    await mkdir(path, 0o700);
    return true;
  } catch (error) {
    if (force && hasCode(error, "EEXIST")) return false;
    throw error;
  }
}

function withoutNothing({ uid, gid }: Attributes): Attributes {
  return { ...(uid === undefined ? {} : { uid }), ...(gid === undefined ? {} : { gid }) };
}

/** Links have no mode of their own, and their owner means nothing. */
async function changed(opened: number, { path }: Pick<Place, "path">, { uid, gid, mode }: Attributes): Promise<void> {
  const found = fstatSync(opened);
  if (found.isSymbolicLink()) throw new VolumeFileError("busy", `${JSON.stringify(path)} is a symbolic link: change what it leads to`);
  if (uid !== undefined || gid !== undefined) await chownOpen(opened, uid ?? found.uid, gid ?? found.gid);
  if (mode !== undefined) await chmod(pathOf(opened), mode);
}

/** The path is a link of /proc to what is open, so this is the one link that is to be followed. */
async function chownOpen(opened: number, uid: number, gid: number): Promise<void> {
  systemCall("fchownat", [opened, "", uid, gid, 0x1000], "owner");
}

type Writing = Attributes & { readonly replace: boolean };

/** Written without a name, so that nothing is left of it when this process dies; then named, beside the old one, which it replaces in one step. */
async function written(
  place: Place,
  content: AsyncIterable<Uint8Array>,
  { replace, mode = usualModes.file, uid = 0, gid = 0 }: Writing,
): Promise<VolumeEntry> {
  const { folder, name, path } = place;
  const there = name === "" ? await stat(pathOf(folder)) : await lstat(pathOf(folder, name)).catch(unlessGone);
  if (there?.isDirectory() === true) throw new VolumeFileError("busy", `${JSON.stringify(path)} is a folder`);
  if (there !== undefined && !replace) throw new VolumeFileError("busy", `${JSON.stringify(path)} is there already`);
  const file = await open(pathOf(folder), constants.O_WRONLY | oTmpfile, 0o600);
  try {
    for await (const chunk of content) await file.writeFile(chunk);
    await chownOpen(file.fd, uid, gid);
    await file.chmod(mode);
    await file.datasync();
    await nameIt(file.fd, place);
  } finally {
    await file.close();
  }
  return entryAt(place);
}

async function nameIt(file: number, { folder, name }: Place): Promise<void> {
  const link = (as: string): void => void systemCall("linkat", [currentFolder, pathOf(file), folder, as, followLink], as);
  try {
    return link(name);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  }
  const beside = `.agentbox-${randomBytes(8).toString("hex")}`;
  link(beside);
  try {
    await rename(pathOf(folder, beside), pathOf(folder, name));
  } catch (error) {
    await unlink(pathOf(folder, beside)).catch(unlessGone);
    throw error;
  }
}

async function removed(place: Place): Promise<void> {
  const { folder, name, path } = place;
  if (name === "") throw new VolumeFileError("invalid", "the volume itself cannot be removed here: delete the volume");
  const found = await lstat(pathOf(folder, name));
  if (!found.isDirectory()) return unlink(pathOf(folder, name));
  try {
    // It goes through descriptors too, however deep the tree is and whatever is put into its place meanwhile.
    await runCommand(["rm", "-rf", "--one-file-system", "--", `./${name}`], { cwd: `/proc/${process.pid}/fd/${folder}` });
  } catch (error) {
    if (error instanceof CommandError)
      throw new VolumeFileError("busy", `${JSON.stringify(path)} could not be removed as a whole: something is being written there`, {
        cause: error,
      });
    throw error;
  }
}
