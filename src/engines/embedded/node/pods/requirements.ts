/** What a machine must have to be a node. Checked once at the start, so that a missing part gives a clear error before the first pod. */
import { closeSync, mkdirSync } from "node:fs";
import { release } from "node:os";
import { mountOf, mountTable } from "#engines/embedded/node/linux/mount-table.ts";
import { copyTree, setTreeAttributes } from "#engines/embedded/node/linux/mounts.ts";
import { hasCode } from "#lib/native/files.ts";

/** Since then overlays take layers that are mounted with an id map. */
const oldestKernel = [5, 19] as const;

export function checkKernel(version: string): void {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  if (major > oldestKernel[0] || (major === oldestKernel[0] && minor >= oldestKernel[1])) return;
  throw new Error(`sandboxes need Linux ${oldestKernel.join(".")} or newer, for overlays with id maps; this is ${version}`);
}

export function checkMachine(userId: number | undefined): void {
  if (userId !== 0) throw new Error("a node needs root: it makes namespaces, mounts and links; start it as root or with sudo");
  checkKernel(release());
}

/** `folder` is where sandboxes' files lie: its file system must take id maps, which network file systems do not. */
export function checkFileSystem(folder: string, idMap: number): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const tree = copyTree(folder);
  try {
    setTreeAttributes(tree, { idMap });
  } catch (error) {
    if (!hasCode(error, "EINVAL")) throw error;
    const type = mountOf(folder, mountTable())?.type ?? "unknown";
    throw new Error(
      `${folder} lies on a file system (${type}) that cannot be mounted with an id map; move AgentBox' folder to ext4, xfs or btrfs`,
      { cause: error },
    );
  } finally {
    closeSync(tree);
  }
}
