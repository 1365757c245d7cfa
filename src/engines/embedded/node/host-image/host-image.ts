/**
 * The image `host`: the machine's own /usr under a clean root, so that a fresh machine has sandboxes without a download.
 * Siblings: etc-files.ts (what is written for /etc), copied-files.ts (what is taken from the machine's), usr-mask.ts
 * (what of /usr is hidden), usual-programs.ts (what programs expect there).
 *
 * The image has one layer. Its `usr` is laid over the machine's /usr in an overlay of its own, because an overlay does
 * not look into other mounts; docs/host-image.md lists what a sandbox can see of the machine through it.
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { ResolvedImage } from "#images/resolved-image.ts";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import { filesToCopy } from "./copied-files.ts";
import { basicGroup, basicPasswd, generatedFiles, sandboxUser, searchPath } from "./etc-files.ts";
import { makeFolder, makeUsrMask } from "./usr-mask.ts";
import { addUsualPrograms, sudoSource } from "./usual-programs.ts";

/** To be raised whenever the same machine would now get another image. */
const version = 2;

/** What changes whenever packages or libraries of the machine change. */
const signs = ["/etc/ld.so.cache", "/var/lib/dpkg/status", "/etc/os-release"];

/** Links at the root of a machine whose programs and libraries are all in /usr. */
const links = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];
const folders = ["boot", "dev", "etc", "home", "media", "mnt", "opt", "proc", "run", "srv", "sys", "usr", "var"];
const varFolders = ["cache", "lib", "log", "mail", "opt", "spool"];

/** The image as this machine has it now; made if it is not there yet, in about a second. */
export async function hostImage(folder: string): Promise<ResolvedImage> {
  const key = createHash("sha256")
    .update([version, sudoSource(), ...signs.map(signOf)].join("\n"))
    .digest("hex");
  const layer = join(folder, key.slice(0, 16), "root");
  if (!existsSync(layer)) await buildOnce(folder, dirname(layer));
  return {
    kind: "host",
    id: `sha256:${key}`,
    digest: `sha256:${key}`,
    layers: [layer],
    config: { env: [`PATH=${searchPath}`, "LANG=C.UTF-8"], entrypoint: [], cmd: ["/bin/bash"], user: "", workingDir: "/", labels: {} },
  };
}

function signOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? path : `${path} ${found.size} ${found.mtimeMs}`;
}

const underWay = new Map<string, Promise<void>>();

/** Callers that ask while it is being made share the same build. */
function buildOnce(parent: string, target: string): Promise<void> {
  const known = underWay.get(target);
  if (known !== undefined) return known;
  const made = build(parent, target).finally(() => underWay.delete(target));
  underWay.set(target, made);
  return made;
}

async function build(parent: string, target: string): Promise<void> {
  requireMergedUsr();
  const making = `${target}.making-${process.pid}`;
  rmSync(making, { recursive: true, force: true });
  const root = join(making, "root");
  mkdirSync(making, { recursive: true });
  makeFolder(root);
  // Only root may look in: files in here have the owners that they have inside.
  chmodSync(parent, 0o700);
  makeFolders(root);
  await copyFromMachine(join(root, "etc"));
  writeGenerated(join(root, "etc"));
  await makeHome(root);
  await makeUsrMask(join(root, "usr"), "/usr");
  await addUsualPrograms(join(root, "usr"), "/usr");
  renameSync(making, target);
}

function requireMergedUsr(): void {
  const linked = existsSync("/bin") && readlinkOf("/bin") === "usr/bin";
  if (!linked) throw new Error("the image `host` needs a machine whose /bin is a link to usr/bin; use an image from a registry instead");
}

function readlinkOf(path: string): string | undefined {
  try {
    return readlinkSync(path).replace(/^\//, "");
  } catch {
    return undefined;
  }
}

function makeFolders(root: string): void {
  for (const name of folders) makeFolder(join(root, name));
  for (const name of varFolders) makeFolder(join(root, "var", name));
  for (const path of ["tmp", "var/tmp"]) makeFolder(join(root, path), 0o1777);
  makeFolder(join(root, "root"), 0o700);
  for (const name of links) {
    const to = readlinkOf(`/${name}`);
    if (to?.startsWith("usr/") === true) symlinkSync(to, join(root, name));
  }
  symlinkSync("../run", join(root, "var/run"));
  symlinkSync("../run/lock", join(root, "var/lock"));
  symlinkSync("../proc/self/mounts", join(root, "etc/mtab"));
}

async function copyFromMachine(etc: string): Promise<void> {
  await runCommand(["cp", "-a", "--parents", "--", ...filesToCopy("/etc"), etc], { cwd: "/etc" });
}

function writeGenerated(etc: string): void {
  const passwd = readIfPresent("/usr/share/base-passwd/passwd.master") ?? basicPasswd;
  const group = readIfPresent("/usr/share/base-passwd/group.master") ?? basicGroup;
  for (const folder of ["security", "pam.d"]) makeFolder(join(etc, folder));
  for (const { path, content, mode, gid = 0 } of generatedFiles(passwd, group)) {
    const file = join(etc, path);
    rmSync(file, { force: true });
    writeFileSync(file, content);
    chownSync(file, 0, gid);
    chmodSync(file, mode);
  }
}

async function makeHome(root: string): Promise<void> {
  const home = join(root, sandboxUser.home);
  makeFolder(home);
  const skel = join(root, "etc/skel");
  if (existsSync(skel) && readdirSync(skel).length > 0) await runCommand(["cp", "-a", "--", `${skel}/.`, home]);
  await runCommand(["chown", "-R", `${sandboxUser.uid}:${sandboxUser.gid}`, home]);
}
