/**
 * The first admin key in a file of its user, like a credential in a kubeconfig. The server stores only its hash, and the file gives the rights of an
 * admin. If it is lost, any other admin key can create a new one.
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
