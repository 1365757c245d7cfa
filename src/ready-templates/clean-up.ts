/** What the making of a system leaves in its folders and nothing needs; and times, so that the same packages give the same folder. */
import { execFile } from "node:child_process";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { sourceDateEpoch } from "./layer-script.ts";

const run = promisify(execFile);

/** Files that apt and others fetch or make again, and manuals, which sandboxes do not need. */
const emptied = [
  "var/cache/apt",
  "var/lib/apt/lists",
  "var/log",
  "var/cache/ldconfig",
  "var/cache/fontconfig",
  "var/cache/man",
  "tmp",
  "run",
  "usr/share/man",
  "usr/share/info",
  "usr/share/locale",
  "usr/share/lintian",
];
/** Copies that programs make of what they change. */
const removed = [
  "var/lib/dpkg/status-old",
  "var/lib/dpkg/diversions-old",
  "var/lib/dpkg/statoverride-old",
  "var/cache/debconf/config.dat-old",
  "var/cache/debconf/templates.dat-old",
  "etc/passwd-",
  "etc/group-",
  "etc/shadow-",
  "etc/gshadow-",
  "etc/subuid-",
  "etc/subgid-",
];

export async function cleanUp(folder: string): Promise<void> {
  for (const path of emptied) {
    for (const name of await readdir(join(folder, path)).catch(() => [])) await rm(join(folder, path, name), { recursive: true });
  }
  for (const path of removed) await rm(join(folder, path), { force: true });
  const docs = join(folder, "usr/share/doc");
  if ((await readdir(docs).catch(() => [])).length > 0) await run("find", [docs, "-type", "f", "!", "-name", "copyright", "-delete"]);
  // A character device is a deletion, of which nothing but the name counts.
  const newer = ["-newermt", `@${sourceDateEpoch}`, "!", "-type", "c"];
  await run("find", [folder, "-depth", ...newer, "-exec", "touch", "-h", "-d", `@${sourceDateEpoch}`, "{}", "+"]);
}
