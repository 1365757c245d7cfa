import { posix } from "node:path";
import type { Account } from "./accounts.ts";

/** `~` and relative paths are in the user's home, an empty one is the sandbox's working folder. The result is absolute and clean. */
export function resolvePath(path: string, { home }: Account, defaultWorkdir: string | undefined): string {
  const given = path === "" ? (defaultWorkdir ?? "") : path;
  if (given === "~" || given === "") return posix.normalize(home);
  // posix.resolve takes away what a path may end with; a path of a file has no slash at its end.
  return posix.resolve(home, given.startsWith("~/") ? given.slice(2) : given);
}
