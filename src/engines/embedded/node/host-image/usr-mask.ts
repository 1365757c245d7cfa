import { chmodSync, chownSync, existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { makeNode, setXattr } from "#lib/native/files.ts";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";

const characterDevice = 0o020_000;

/** Parts of /usr that are the administrator's, not the distribution's. */
const hidden = ["etc", "src"];
/** The same, but programs expect to find (and may fill) folders there. */
const emptied: Readonly<Record<string, readonly string[]>> = { local: ["bin", "etc", "games", "include", "lib", "sbin", "share", "src"] };

/** A folder with exactly this mode, whatever the umask of this process is. */
export function makeFolder(path: string, mode: number = 0o755): void {
  mkdirSync(path);
  chmodSync(path, mode);
}

/**
 * Fills `mask`, a layer to be put over the machine's /usr. It hides what is not part of the distribution. It also hides every file
 * that is not readable by all users of the machine, because a sandbox's root could read it.
 */
export async function makeUsrMask(mask: string, usr: string): Promise<void> {
  for (const name of hidden) if (existsSync(join(usr, name))) hide(mask, name);
  for (const [name, children] of Object.entries(emptied)) makeEmptied(mask, name, children);
  for (const path of await unreadableFiles(usr)) {
    const [top = ""] = path.split("/");
    if (hidden.includes(top) || top in emptied) continue;
    likeBelow(mask, usr, dirname(path));
    if (!existsSync(join(mask, path))) hide(mask, path);
  }
}

/** The whiteout of overlayfs: nothing of this name shows through. */
function hide(mask: string, path: string): void {
  makeNode(Buffer.from(join(mask, path)), characterDevice);
}

function makeEmptied(mask: string, name: string, children: readonly string[]): void {
  const folder = join(mask, name);
  makeFolder(folder);
  for (const child of children) makeFolder(join(folder, child));
  setXattr(Buffer.from(folder), "trusted.overlay.opaque", Buffer.from("y"));
}

/** A folder of the upper layer decides how the merged one looks, so it is made like the one below it. */
function likeBelow(mask: string, usr: string, folder: string): void {
  if (folder === "." || existsSync(join(mask, folder))) return;
  likeBelow(mask, usr, dirname(folder));
  const { mode, uid, gid } = statSync(join(usr, folder));
  mkdirSync(join(mask, folder));
  chownSync(join(mask, folder), uid, gid);
  chmodSync(join(mask, folder), mode & 0o7777);
}

/** Outermost first, so that what lies in a hidden folder is not looked at. */
async function unreadableFiles(usr: string): Promise<string[]> {
  const tests = ["(", "-type", "f", "-o", "-type", "d", ")", "!", "-perm", "-004"];
  const found = await runCommand(["find", usr, "-xdev", ...tests, "-prune", "-print0"]);
  return found.split("\0").flatMap((path) => (path === "" ? [] : [relative(usr, path)]));
}
