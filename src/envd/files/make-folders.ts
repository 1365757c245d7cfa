import { chown, lstat, mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { Account } from "#envd/accounts/accounts.ts";
import { codeOf } from "./file-failure.ts";

/** Creates a folder and its missing parents, owned by the account. Throws the system's error. */
export async function makeFolders(path: string, { uid, gid }: Account): Promise<void> {
  const missing: string[] = [];
  for (let at = path; !(await isThere(at)); at = dirname(at)) missing.unshift(at);
  for (const folder of missing) {
    try {
      await mkdir(folder, { mode: 0o755 });
    } catch (error) {
      // Another request or process created the folder first.
      if (codeOf(error) !== "EEXIST" || !(await stat(folder)).isDirectory()) throw error;
      continue;
    }
    await chown(folder, uid, gid);
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) return true;
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || path === "/") throw error;
    // A broken link is no place for a folder.
    const link = await lstat(path).catch(() => undefined);
    if (link === undefined) return false;
    // It was created after our first check.
    if (link.isDirectory()) return true;
  }
  throw Object.assign(new Error(`${path} is not a directory`), { code: "ENOTDIR" });
}
