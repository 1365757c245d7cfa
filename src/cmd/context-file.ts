/** The file with this user's contexts. It contains API keys, so only the user may read it. */
import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type ContextStore, noContexts, parseContexts } from "#cli/config/server-contexts.ts";
import { CliError } from "#cli/failure.ts";

export function contextFilePath(env: Readonly<Record<string, string | undefined>>): string {
  const [chosen = "", xdg = ""] = [env["AGENTBOX_CONFIG"], env["XDG_CONFIG_HOME"]];
  if (chosen !== "") return resolve(chosen);
  return join(xdg === "" ? join(homedir(), ".config") : xdg, "agentbox", "config.json");
}

export function contextFile(path: string): ContextStore {
  return {
    path,
    read: async () => {
      const text = await readPrivate(path);
      return text === undefined ? noContexts : parseContexts(text, path);
    },
    write: async (file) => {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      // A new file, so that the rights of an old one are not taken over, and a reader meanwhile finds one of both as a whole.
      const fresh = `${path}.${process.pid}.new`;
      await writeFile(fresh, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
      await rename(fresh, path);
    },
  };
}

async function readPrivate(path: string): Promise<string | undefined> {
  try {
    const [text, { mode }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
    if ((mode & 0o077) !== 0) throw new CliError(`${path} holds API keys, and other users can read it. Fix it with: chmod 600 ${path}`);
    return text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
