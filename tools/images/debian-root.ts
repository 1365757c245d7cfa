/**
 * The root file system of the `base` image: Debian with what agents reach for, made by debootstrap from the mirror that this
 * machine uses. It takes minutes, so the folder is kept; the same folder gives the same image.
 */
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

const suite = "trixie";
const packages: readonly string[] = ["bash", "ca-certificates", "curl", "git", "procps", "python3", "sudo"];
const usualMirror = "http://deb.debian.org/debian";
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
    await debootstrap(["--variant=minbase", `--include=${wanted.join(",")}`, suite, making, mirror], say);
    await addUser(making);
    await cleanUp(making);
    await rename(making, folder);
    return folder;
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

/** The first of apt's archives that is Debian's own. */
async function mirrorOfMachine(): Promise<string> {
  const { stdout } = await run("apt-get", ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]).catch(() => ({
    stdout: "",
  }));
  const found = stdout.split("\n").find((uri) => /^https?:\/\/.*\/debian\/?$/.test(uri));
  return found?.replace(/\/$/, "") ?? usualMirror;
}

async function debootstrap(args: readonly string[], say: (text: string) => void): Promise<void> {
  const child = spawn("debootstrap", args, { stdio: ["ignore", "pipe", "pipe"] });
  let last = "";
  child.stdout.on("data", (chunk: Buffer) => {
    last = `${last}${chunk.toString()}`.slice(-2000);
    // Hundreds of lines; these are its stages.
    for (const [, stage] of chunk.toString().matchAll(/^I: (.*(?:packages|base system)\.\.\.)$/gm)) say(`base: ${stage}`);
  });
  child.stderr.on("data", (chunk: Buffer) => (last = `${last}${chunk.toString()}`.slice(-2000)));
  const code = await new Promise<number | string>((resolve) => {
    child.on("error", (error) => resolve(`${error.message}; install it with: apt-get install -y debootstrap`));
    child.on("exit", (status, signal) => resolve(status ?? signal ?? 1));
  });
  if (code !== 0) throw new Error(`debootstrap failed (${code}):\n${last}`);
}

/** Whom sandboxes run as: may become root without a password, as agents expect. */
async function addUser(root: string): Promise<void> {
  await run("chroot", [root, "useradd", "--create-home", "--uid", "1000", "--shell", "/bin/bash", "user"]);
  const file = join(root, "etc/sudoers.d/user");
  await writeFile(file, "user ALL=(ALL) NOPASSWD: ALL\n");
  await chmod(file, 0o440);
}

/** What only this machine's run of debootstrap knows, what apt fetches again, and manuals that nobody in a sandbox reads. */
async function cleanUp(root: string): Promise<void> {
  const emptied = ["var/cache/apt", "var/lib/apt/lists", "var/log", "usr/share/man", "usr/share/info", "usr/share/locale", "tmp", "run"];
  for (const folder of emptied) {
    for (const name of await readdir(join(root, folder)).catch(() => [])) await rm(join(root, folder, name), { recursive: true });
  }
  await run("find", [join(root, "usr/share/doc"), "-type", "f", "!", "-name", "copyright", "-delete"]);
  await writeFile(join(root, "etc/apt/sources.list"), aptSources);
  await Promise.all(["etc/machine-id", "etc/hostname", "etc/resolv.conf"].map((name) => writeFile(join(root, name), "")));
}
