/**
 * What a container has changed, as an archive in a file of the agent. It is written while the container stands still and read for its digest and the registry
 * afterwards. An archive and not a copy of the files: a copy with their owners would take rights over files that the agent otherwise does not need.
 */
import { statfsSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { ImageError } from "#images/image-error.ts";
import { lackOfRoom } from "#images/layer/disk-room.ts";
import { packFolder } from "#images/layer/pack.ts";
import { HiddenNames } from "./hidden-names.ts";
import type { OverlayMount } from "./overlay-mount.ts";

export interface LayerLimits {
  readonly maxBytes: number;
  readonly reserveBytes?: number | undefined;
}

/**
 * Folders and files that the runtime makes to mount something on: what is mounted there is not the sandbox's, and the next container gets its own.
 * What an image brings itself under these names is in its layers and stays there.
 */
const mountPoints: ReadonlySet<string> = new Set(["dev", "proc", "sys", "etc/hosts", "etc/hostname", "etc/resolv.conf"]);
const roomCheckBytes = 16 * 1024 ** 2;

/** Throws ImageError; `goOn` is asked for every piece and throws when the copy is not wanted any more. */
export async function writeLayer(
  { upper, ...others }: OverlayMount,
  file: string,
  { limits, goOn }: { readonly limits: LayerLimits; readonly goOn: () => void },
): Promise<void> {
  await stat(upper).catch((error: unknown) => {
    throw new ImageError("storage", "the agent of the node does not see the files of its containers (nodeAgent.checkpoints of the chart)", {
      cause: error,
      detail: String(error),
    });
  });
  const names = new HiddenNames(others);
  const archive = packFolder(upper, {
    // As root writes them. What the attributes would tell is seen by names.
    marks: { whiteout: "device", namespace: "trusted" },
    hidden: (path, own) => names.in(path, own),
    isLeftOut: (path) => mountPoints.has(path),
  });
  const handle = await open(file, "wx", 0o600);
  try {
    await write(handle, archive, { folder: file, limits, goOn });
  } finally {
    await handle.close();
  }
}

async function write(
  handle: FileHandle,
  archive: AsyncIterable<Buffer>,
  { folder, limits, goOn }: { readonly folder: string; readonly limits: LayerLimits; readonly goOn: () => void },
): Promise<void> {
  let bytes = 0;
  let unchecked = roomCheckBytes;
  for await (const piece of archive) {
    goOn();
    bytes += piece.length;
    unchecked += piece.length;
    if (bytes > limits.maxBytes) {
      throw new ImageError("too_large", `the files that the sandbox has changed are of more than ${limits.maxBytes} bytes, holes included`);
    }
    if (unchecked >= roomCheckBytes) checkRoom(folder, unchecked, limits);
    if (unchecked >= roomCheckBytes) unchecked = 0;
    await handle.writeFile(piece);
  }
}

function checkRoom(folder: string, bytes: number, { reserveBytes }: LayerLimits): void {
  const lack = lackOfRoom(statfsSync(folder), bytes, reserveBytes);
  if (lack !== undefined) throw new ImageError("storage", `there is no room for the files on the sandbox's node: ${lack}`);
}

/** Files of an agent that was killed are of no use to the next one. */
export async function emptyScratch(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true });
}
