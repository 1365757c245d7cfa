/**
 * The root file system that all templates and the `base` image of clusters stand on: Debian with what agents reach for, made by debootstrap from the
 * mirror that this machine uses. It takes minutes, so the folder is kept; the same folder gives the same image.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { cleanUp } from "./clean-up.ts";
import { debootstrap, mirrorOfMachine, usualMirror } from "./debootstrap.ts";
import { sourceDateEpoch } from "./layer-script.ts";

const run = promisify(execFile);

export const suite = "trixie";
const packages: readonly string[] = ["bash", "ca-certificates", "curl", "git", "procps", "python3", "sudo"];
/** What `apt-get install` in a sandbox asks: never the mirror of the machine that built the image. */
const aptSources = `deb ${usualMirror} ${suite} main
deb ${usualMirror} ${suite}-updates main
deb ${usualMirror}-security ${suite}-security main
`;
/** Changed with what is done below, or kept folders would go on being used. */
const recipe = 3;

export interface DebianRootOptions {
  /** Where the folders are kept, one per list of packages. */
  readonly parent: string;
  /** Packages beside the usual ones. */
  readonly more: readonly string[];
  readonly say: (text: string) => void;
  readonly signal?: AbortSignal;
}

export async function debianRoot({ parent, more, say, signal }: DebianRootOptions): Promise<string> {
  const wanted = [...new Set([...packages, ...more])].sort();
  const key = createHash("sha256")
    .update(JSON.stringify([recipe, suite, wanted]))
    .digest("hex")
    .slice(0, 12);
  const folder = join(parent, `debian-${suite}-${key}`);
  if (existsSync(folder)) return folder;
  if (process.getuid?.() !== 0) throw new Error("making a Debian needs root, which owns the files in it");
  await mkdir(parent, { recursive: true });
  const making = `${folder}.making-${process.pid}`;
  const mirror = await mirrorOfMachine();
  say(`Debian ${suite} with ${wanted.join(", ")} from ${mirror} (once, some minutes) …`);
  try {
    await debootstrap(["--variant=minbase", `--include=${wanted.join(",")}`, suite, making, mirror], say, {
      // Without it Python would keep times of files in what it compiles, and find them wrong.
      env: { SOURCE_DATE_EPOCH: String(sourceDateEpoch) },
      signal,
    });
    await addUser(making);
    await cleanUpRoot(making);
    await rename(making, folder);
    return folder;
  } finally {
    await rm(making, { recursive: true, force: true });
  }
}

/** The user that sandboxes run as: may become root without a password, as agents expect. */
async function addUser(root: string): Promise<void> {
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(sourceDateEpoch) };
  await run("chroot", [root, "useradd", "--create-home", "--uid", "1000", "--shell", "/bin/bash", "user"], { env });
  const file = join(root, "etc/sudoers.d/user");
  await writeFile(file, "user ALL=(ALL) NOPASSWD: ALL\n");
  await chmod(file, 0o440);
}

async function cleanUpRoot(root: string): Promise<void> {
  await writeFile(join(root, "etc/apt/sources.list"), aptSources);
  await Promise.all(["etc/machine-id", "etc/hostname", "etc/resolv.conf"].map((name) => writeFile(join(root, name), "")));
  await cleanUp(root);
}
