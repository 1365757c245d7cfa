/**
 * The first admin key in a file of its user, as a kubeconfig holds a credential: the server keeps only its hash, and whoever may read
 * this file may do what an admin may. Losing it loses the key; another one can be made with any admin key.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { KeyKeeper } from "#services/keys/first-admin-key.ts";

export function adminKeyFile(file: string): KeyKeeper {
  return {
    read: () => readAdminKey(file),
    write: async (key) => {
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      // Anew, so that the rights of a file that was there are not taken over.
      await rm(file, { force: true });
      await writeFile(file, `${key}\n`, { mode: 0o600, flag: "wx" });
      return key;
    },
    forget: () => rm(file, { force: true }),
  };
}

/** Undefined when there is no such file. */
export async function readAdminKey(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
