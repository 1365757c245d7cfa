/**
 * Files of a root that its user has filled, and that the OCI runtime or the node open: what is no plain file or folder there could hold the
 * opener up for ever (a FIFO) or do something else when it is opened (a device). It is refused before anything opens it.
 */
import type { Stats } from "node:fs";
import { statInsideRoot } from "#engines/embedded/node/linux/inside-root.ts";

/** Which users and groups there are: runtimes read them whole. */
const accountPaths = ["/etc/passwd", "/etc/group"] as const;
const largestAccountFile = 2 ** 20;

export interface OpenedPaths {
  /** Where files of the pod are mounted. */
  readonly podFiles: readonly string[];
  /** What is to be run; looked for on PATH if it is no path. */
  readonly program: string;
  readonly workingDir: string;
}

/** Throws if what is at one of these paths cannot be used as what it is for. What is missing is left to the runtime. */
export function refuseSpecialFiles(root: string, { podFiles, program, workingDir }: OpenedPaths): void {
  refuseSpecialAccounts(root);
  const files = [...podFiles, ...(program.includes("/") ? [program] : [])];
  for (const path of files) check(root, path, (found) => found.isFile(), "a regular file belongs there");
  check(root, workingDir, (found) => found.isDirectory(), "it is to be the working folder");
}

/** The same for a container that runs, before a command is started in it. */
export function refuseSpecialAccounts(root: string): void {
  for (const path of accountPaths) {
    const found = check(root, path, (one) => one.isFile(), "a regular file belongs there");
    if (found !== undefined && found.size > largestAccountFile)
      throw new Error(`${path} of the container has ${found.size} bytes; at most ${largestAccountFile} are read`);
  }
}

function check(root: string, path: string, isRight: (found: Stats) => boolean, why: string): Stats | undefined {
  const found = statInsideRoot(root, path);
  if (found === undefined || isRight(found)) return found;
  throw new Error(`${path} of the container is ${kindOf(found)}: ${why}`);
}

function kindOf(found: Stats): string {
  if (found.isFIFO()) return "a FIFO";
  if (found.isSocket()) return "a socket";
  if (found.isDirectory()) return "a folder";
  if (found.isCharacterDevice() || found.isBlockDevice()) return "a device";
  return found.isFile() ? "a file" : "something else";
}
