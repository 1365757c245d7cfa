import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Folders with administrators' commands, which are not on every user's PATH. */
const alsoIn = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** The path of a command; undefined if the machine has none of this name. */
export function findCommand(name: string, path: string = process.env["PATH"] ?? ""): string | undefined {
  return [...path.split(delimiter), ...alsoIn].map((folder) => join(folder, name)).find(isExecutable);
}

/**
 * Where a runtime is: the one that was chosen by name (`AGENTBOX_RUNC`), the one that was built for AgentBox (tools/runc/build.sh), or the
 * machine's own.
 */
export function findRuntime(name: string, env: Readonly<Record<string, string | undefined>> = process.env): string | undefined {
  const chosen = env[`AGENTBOX_${name.toUpperCase()}`] ?? "";
  if (chosen !== "") return [chosen].find(isExecutable);
  return [join(cacheFolder(env), name, name)].find(isExecutable) ?? findCommand(name, env["PATH"]);
}

/** Where `make` puts what it has built. */
export function cacheFolder(env: Readonly<Record<string, string | undefined>>): string {
  return env["AGENTBOX_CACHE"] ?? join(env["XDG_CACHE_HOME"] ?? join(env["HOME"] ?? "/", ".cache"), "agentbox");
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return path.startsWith("/");
  } catch {
    return false;
  }
}
