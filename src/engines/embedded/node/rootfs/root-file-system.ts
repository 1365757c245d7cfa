/**
 * The file systems that a container starts with. Siblings: stage.ts (where they are put together), pod-files.ts (what a
 * pod brings along), volumes.ts, trash.ts, disks/ (where pods write).
 *
 * R1 Layers are shared by all sandboxes and never written; owners in them are numbers as inside a sandbox, and every
 *    sandbox sees them through the id map of its slot.
 * R2 A container starts on an empty upper: nothing that another one wrote can be in it.
 */
import { chmodSync, lstatSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { ResolvedImage } from "#images/resolved-image.ts";
import type { TreeAttributes } from "#engines/embedded/node/linux/mounts.ts";
import type { Stage } from "./stage.ts";

export interface RootPlan {
  readonly image: ResolvedImage;
  /** An empty folder on the pod's disk for what the container changes. */
  readonly writable: string;
  /** Descriptor of the slot's map for mounts. */
  readonly idMap: number;
}

export interface MountedRoot {
  readonly root: string;
  /** For the image `host`: to be mounted at /usr. */
  readonly usr?: string;
}

/** Puts the root file system together in `stage`. */
export function mountRoot(stage: Stage, { image, writable, idMap }: RootPlan): MountedRoot {
  const shared: TreeAttributes = { flags: ["readOnly", "noSuid", "noDev", "noExec"], idMap };
  const overlays = image.kind === "host" ? ["root", "usr"] : ["root"];
  for (const name of overlays) makeUpper(writable, name);
  const layers = image.layers.map((layer, depth) => stage.bindFolder(layer, `layer-${depth}`, shared));
  const changes = stage.bindFolder(writable, "writable", { flags: ["noSuid", "noDev", "noExec"], idMap });
  const root = stage.root({ lowers: layers, upper: upperIn(changes, "root") });
  if (image.kind !== "host") return { root };
  // What a layer of such an image holds below usr belongs over the machine's /usr.
  const ofLayers = layers.map((layer) => join(layer, "usr")).filter(isFolder);
  const lowers = [...ofLayers, stage.bindFolder("/usr", "machine-usr", shared)];
  return { root, usr: stage.overlay("usr", { lowers, upper: upperIn(changes, "usr") }) };
}

/** A link there leads to wherever a sandbox wanted it to: on this machine. */
function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Not made through the id map: there the root of this machine has an id that does not exist in the sandbox. */
function makeUpper(writable: string, name: string): void {
  const { folder, work } = upperIn(writable, name);
  mkdirSync(work, { recursive: true });
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
}

/** Names in a writable layer: `root` and `usr` are what a snapshot copies. */
function upperIn(writable: string, name: string): { folder: string; work: string } {
  return { folder: join(writable, name), work: join(writable, `${name}-work`) };
}
