/**
 * The root file system of the `base` image: Debian with what agents reach for, made by debootstrap from the mirror that this
 * machine uses. It takes minutes, so the folder is kept; the same folder gives the same image.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { debootstrap, mirrorOfMachine, usualMirror } from "../debootstrap.ts";

const run = promisify(execFile);

const suite = "trixie";
const packages: readonly string[] = ["bash", "ca-certificates", "curl", "git", "procps", "python3", "sudo"];
/** What `apt-get install` in a sandbox asks: never the mirror of the machine that built the image. */
const aptSources = `deb ${usualMirror} ${suite} main
deb ${usualMirror} ${suite}-updates main
deb ${usualMirror}-security ${suite}-security main
`;
/** Changed with what is done below, or kept folders would go on being used. */
const recipe = 2;

export interface DebianRootOptions {
  /** Where the folders are kept, one per list of packages. */
  readonly parent: string;
  /** Packages beside the usual ones. */
  readonly more: readonly string[];
  readonly say: (text: string) => void;
}

export async function debianRoot({ parent, more, say }: DebianRootOptions): Promise<string> {
  const wanted = [...new Set([...packages, ...more])].sort();
  const key = createHash("sha256")
    .update(JSON.stringify([recipe, suite, wanted]))
    .digest("hex")
    .slice(0, 12);
  const folder = join(parent, `debian-${suite}-${key}`);
  if (existsSync(folder)) return folder;
  if (process.getuid?.() !== 0)
    throw new Error("the base image needs root, which owns the files in it; leave it out with IMAGES=agentbox,daemon");
  await mkdir(parent, { recursive: true });
  const making = `${folder}.making-${process.pid}`;
  const mirror = await mirrorOfMachine();
  say(`base: Debian ${suite} with ${wanted.join(", ")} from ${mirror} (once, some minutes) …`);
  try {
    await debootstrap(["--variant=minbase", `--include=${wanted.join(",")}`, suite, making, mirror], (stage) => say(`base: ${stage}`));
    await addUser(making);
    await cleanUp(making);
    await rename(making, folder);
    return folder;
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

/** The user that sandboxes run as: may become root without a password, as agents expect. */
async function addUser(root: string): Promise<void> {
  await run("chroot", [root, "useradd", "--create-home", "--uid", "1000", "--shell", "/bin/bash", "user"]);
  const file = join(root, "etc/sudoers.d/user");
  await writeFile(file, "user ALL=(ALL) NOPASSWD: ALL\n");
  await chmod(file, 0o440);
}

/** Removes files of this run of debootstrap, files that apt fetches again, and manuals, which sandboxes do not need. */
async function cleanUp(root: string): Promise<void> {
  const emptied = ["var/cache/apt", "var/lib/apt/lists", "var/log", "usr/share/man", "usr/share/info", "usr/share/locale", "tmp", "run"];
  for (const folder of emptied) {
    for (const name of await readdir(join(root, folder)).catch(() => [])) await rm(join(root, folder, name), { recursive: true });
  }
  await run("find", [join(root, "usr/share/doc"), "-type", "f", "!", "-name", "copyright", "-delete"]);
  await writeFile(join(root, "etc/apt/sources.list"), aptSources);
  await Promise.all(["etc/machine-id", "etc/hostname", "etc/resolv.conf"].map((name) => writeFile(join(root, name), "")));
}
