import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { NodePaths } from "#engines/embedded/node/node-paths.ts";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import { detachMount, mountOverlay } from "#engines/embedded/node/linux/mounts.ts";

/**
 * Shows the daemon's folder at a place whose mounts do not say where it is kept; all sandboxes share its pages. Containers
 * that were made with another folder keep that. False without a folder.
 */
export function mountDaemon(paths: NodePaths, folder: string | undefined): boolean {
  if (folder === undefined) return false;
  const note = join(paths.run, "daemon-folder");
  const empty = join(paths.run, "empty");
  if (readIfPresent(note) === folder) return true;
  mkdirSync(paths.daemon, { recursive: true });
  mkdirSync(empty, { recursive: true });
  detachMount(paths.daemon);
  // Two layers, because an overlay that nobody can write to must have two.
  mountOverlay({ lowers: [folder, empty], target: paths.daemon, flags: ["readOnly", "noSuid", "noDev"] });
  writeFileSync(note, folder);
  return true;
}
