/**
 * install.cjs of the daemon's image: copies the image's files into the given folder, for clusters on which an image cannot be mounted.
 * It runs as the pod's user, any number of times; each file is there in full or not at all.
 */
import { chmodSync, constants, copyFileSync, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

/** Paths in the image, put in when the image is built: around them stand /proc, /etc and whatever else a runtime mounts. */
declare const imageFiles: readonly string[];

const from = import.meta.dirname;
const [to] = process.argv.slice(2);
try {
  if (to === undefined) throw new Error("give the folder to copy to: node install.cjs FOLDER");
  for (const name of imageFiles) install(join(from, name), join(to, name));
} catch (error) {
  process.stderr.write(`the daemon cannot be copied: ${(error as Error).message}\n`);
  process.exitCode = 1;
}

function install(source: string, target: string): void {
  mkdirSync(dirname(target), { recursive: true });
  const draft = `${target}.draft-${process.pid}`;
  try {
    // The kernel copies, or shares the blocks where the file system can.
    copyFileSync(source, draft, constants.COPYFILE_FICLONE);
    // Whatever the umask was.
    chmodSync(draft, statSync(source).mode & 0o7777);
    renameSync(draft, target);
  } finally {
    rmSync(draft, { force: true });
  }
}
