import { chmod, copyFile, lchown, lstat, mkdir, readdir, readlink, rename, rm, symlink, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Account } from "#envd/accounts/accounts.ts";
import { codeOf } from "#envd/files/file-failure.ts";
import { makeFolders } from "#envd/files/make-folders.ts";

/** Moves a file or a folder, copying it if necessary. Throws the system's error. */
export async function moveEntry(source: string, destination: string, account: Account): Promise<void> {
  await lstat(source);
  await makeFolders(dirname(destination), account);
  try {
    await rename(source, destination);
  } catch (error) {
    // Needed between file systems, and for folders from the image's layers.
    if (codeOf(error) !== "EXDEV") throw error;
    await copyThenRemove(source, destination);
  }
}

async function copyThenRemove(source: string, destination: string): Promise<void> {
  const temporary = join(dirname(destination), `.agentbox-move-${process.hrtime.bigint().toString(36)}`);
  try {
    await copyEntry(source, temporary);
    await rename(temporary, destination);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw error;
  }
  await rm(source, { recursive: true, force: true });
}

async function copyEntry(source: string, destination: string): Promise<void> {
  const found = await lstat(source);
  if (found.isSymbolicLink()) {
    await symlink(await readlink(source), destination);
    return lchown(destination, found.uid, found.gid);
  }
  if (found.isDirectory()) {
    await mkdir(destination, { mode: 0o700 });
    for (const name of await readdir(source)) await copyEntry(join(source, name), join(destination, name));
  } else if (found.isFile()) {
    await copyFile(source, destination);
  } else {
    throw Object.assign(new Error(`${source} is neither file, folder nor link and cannot be moved to another file system`), {
      code: "EINVAL",
    });
  }
  await lchown(destination, found.uid, found.gid);
  await chmod(destination, found.mode & 0o7777);
  await utimes(destination, found.atime, found.mtime);
}
