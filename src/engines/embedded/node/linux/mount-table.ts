import { readFileSync } from "node:fs";
import { detachMount } from "./mounts.ts";

export interface MountEntry {
  readonly target: string;
  readonly type: string;
  readonly source: string;
  /** Options of the file system, not of the mount: `lowerdir=…`, `prjquota`. */
  readonly options: string;
}

/** Reads `/proc/self/mountinfo`: lowest mounts first, as they were made. */
export function parseMountTable(text: string): MountEntry[] {
  const entries: MountEntry[] = [];
  for (const line of text.split("\n")) {
    // ID PARENT MAJOR:MINOR ROOT TARGET OPTIONS [OPTIONAL…] - TYPE SOURCE SUPER-OPTIONS
    const [left, right] = line.split(" - ", 2);
    const target = left?.split(" ")[4];
    const [type, source, options] = right?.split(" ") ?? [];
    if (target === undefined || type === undefined) continue;
    entries.push({ target: unescaped(target), type, source: unescaped(source ?? ""), options: options ?? "" });
  }
  return entries;
}

/** Blanks, tabs, newlines and backslashes are written as three octal digits. */
function unescaped(field: string): string {
  return field.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

export function mountTable(): MountEntry[] {
  return parseMountTable(readFileSync("/proc/self/mountinfo", "utf8"));
}

/** The mount that `path` lies on: the longest target that is a prefix of it, the last one if several lie over each other. */
export function mountOf(path: string, table: readonly MountEntry[]): MountEntry | undefined {
  let found: MountEntry | undefined;
  for (const entry of table) {
    if (isWithin(path, entry.target) && entry.target.length >= (found?.target.length ?? 0)) found = entry;
  }
  return found;
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

/** What is mounted below `folder`, topmost first. Never below `/` or `/run`: those hold what is not AgentBox's. */
export function mountsBelow(folder: string, table: readonly MountEntry[]): readonly string[] {
  if (!/^\/[^/]+\/[^/]/.test(folder)) throw new Error(`${JSON.stringify(folder)} is no folder of AgentBox: nothing is unmounted below it`);
  return table
    .map(({ target }) => target)
    .filter((target) => target !== folder && isWithin(target, folder))
    .reverse();
}

/** Takes away all that is mounted below `folder`, but not what is mounted on it. */
export function detachBelow(folder: string): void {
  for (const target of mountsBelow(folder, mountTable())) detachMount(target);
}
