/** A disk with this project as it is in the working tree, its npm packages, and the programs it has built for itself. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, rm, utimes } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const diskSize = "3G";

export interface ProjectDiskOptions {
  readonly project: string;
  /** Where programs are kept that the project builds once, such as the OCI runtime. */
  readonly cache: string;
  /** A folder for this run. */
  readonly folder: string;
}

export async function projectDisk({ project, cache, folder }: ProjectDiskOptions): Promise<string> {
  const root = join(folder, "project");
  const disk = join(folder, "project.img");
  await mkdir(root, { recursive: true });
  const list = `cd "${project}" && git ls-files --cached --others --exclude-standard -z | tar --create --null --files-from=- | tar --extract --directory="${root}"`;
  await run("bash", ["-o", "pipefail", "-c", list]);
  await run("cp", ["--archive", join(project, "node_modules"), join(root, "node_modules")]);
  // The guest has no network: as old as it looks, this set-up is complete.
  const now = new Date();
  await utimes(join(root, "node_modules/.agentbox-setup"), now, now);
  const runtime = join(cache, "runc");
  if (existsSync(runtime)) await cp(runtime, join(root, ".cache/runc"), { recursive: true });
  await run("chown", ["--recursive", "0:0", root]);
  await run("mke2fs", ["-q", "-t", "ext4", "-L", "agentbox", "-d", root, disk, diskSize]);
  await rm(root, { recursive: true });
  return disk;
}
