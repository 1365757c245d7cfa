import { posix } from "node:path";
import type { Account } from "./accounts.ts";

/** `~` and relative paths start in the user's home; an empty path is the sandbox's working folder. The result is absolute and normalized. */
export function resolvePath(path: string, { home }: Account, defaultWorkdir: string | undefined): string {
  const given = path === "" ? (defaultWorkdir ?? "") : path;
  if (given === "~" || given === "") return posix.normalize(home);
  // posix.resolve removes a slash at the end, which a path of a file must not have.
  return posix.resolve(home, given.startsWith("~/") ? given.slice(2) : given);
}
