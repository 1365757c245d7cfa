/**
 * Where in a sandbox a volume may be mounted. Checked when a sandbox is asked for, and again by the node before it mounts: the node follows no links
 * on the way, so what is not refused here is where it says it is.
 */
import { daemonPath } from "./daemon-command.ts";

const maxLength = 1024;
const maxPart = 255;

/** Nothing at or below: the kernel's file systems, and the daemon's folder. */
const closedTrees = ["/proc", "/sys", "/dev", daemonPath];
/** Not themselves: without them no program in the sandbox starts. Folders below are free. */
const closedFolders: ReadonlySet<string> = new Set(["/", "/bin", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/usr"]);

/** Undefined for a path where a volume may be mounted. */
export function whyNotMountPath(path: string): string | undefined {
  if (!path.startsWith("/")) return "must be absolute, such as /mnt/data";
  if (Buffer.byteLength(path) > maxLength) return `must have at most ${maxLength} bytes`;
  if (Buffer.from(path).some((byte) => byte < 0x20 || byte === 0x7f)) return "must not have control characters";
  if (closedFolders.has(path)) return "would hide what every program needs: choose a folder below it, or another one";
  const parts = path.split("/").slice(1);
  if (parts.some((part) => part === "" || part === "." || part === "..")) return "must not have empty parts, '.' or '..'";
  if (parts.some((part) => Buffer.byteLength(part) > maxPart)) return `must not have a part of more than ${maxPart} bytes`;
  const tree = closedTrees.find((closed) => path === closed || path.startsWith(`${closed}/`));
  return tree === undefined ? undefined : `lies in ${tree}, which belongs to the sandbox itself`;
}

/** True if one of the two is in the other, or both are the same: then one would hide the other. */
export function overlap(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`);
}
