/**
 * Where a container's files are on its node. The runtime mounts them as an overlay at `…/<id of the container>/rootfs`, and the kernel tells of
 * which folders. An agent that has that place mounted from its node sees the same, so it needs no socket of the runtime and no view of its processes.
 */
import { dirname, join } from "node:path";

export interface OverlayMount {
  /** What the container sees. */
  readonly merged: string;
  /** What it has changed. */
  readonly upper: string;
  /** The layers of its image, the highest first. */
  readonly lower: readonly string[];
}

/** `mountInfo` is the text of /proc/self/mountinfo. Undefined when no overlay of this container is there. */
export function overlayOf(mountInfo: string, containerId: string): OverlayMount | undefined {
  const end = `/${containerId}/rootfs`;
  for (const line of mountInfo.split("\n")) {
    const [head = "", tail = ""] = line.split(" - ");
    const merged = unescaped(head.split(" ")[4] ?? "");
    const [kind, , options = ""] = tail.split(" ");
    if (kind !== "overlay" || !merged.endsWith(end)) continue;
    const found = foldersIn(options.split(",").map(unescaped));
    if (found !== undefined) return { merged, ...found };
  }
  return undefined;
}

function foldersIn(options: readonly string[]): Pick<OverlayMount, "upper" | "lower"> | undefined {
  const valuesOf = (name: string): string[] =>
    options.flatMap((option) => (option.startsWith(`${name}=`) ? [option.slice(name.length + 1)] : []));
  const [upper] = valuesOf("upperdir");
  // One list between colons, or an option for each.
  const lower = [...valuesOf("lowerdir").flatMap((list) => list.split(":")), ...valuesOf("lowerdir+")];
  if (upper === undefined || lower.length === 0) return undefined;
  // Long lists are written relative to the folder that all of them are in: <folder>/<number>/fs.
  const folder = dirname(dirname(upper));
  return { upper, lower: lower.map((path) => (path.startsWith("/") ? path : join(folder, path))) };
}

/** As the kernel writes blanks, line ends and backslashes. */
function unescaped(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
