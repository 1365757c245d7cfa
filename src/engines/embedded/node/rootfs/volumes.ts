import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { mountOf, mountTable } from "#engines/embedded/node/linux/mount-table.ts";
import { mountFileSystem } from "#engines/embedded/node/linux/mounts.ts";
import { checkName } from "#engines/embedded/node/node-paths.ts";
import type { ContainerMount } from "#engines/embedded/node/pod-runtime.ts";
import type { Stage } from "./stage.ts";

/** What the runtime is to mount into the container. */
export interface StagedVolume {
  readonly source: string;
  readonly path: string;
  readonly readOnly: boolean;
  /** Flags of the source that must be repeated: the kernel does not let a process in a user namespace drop them. */
  readonly flags: readonly string[];
}

export interface VolumeContext {
  readonly stage: Stage;
  /** The pod's folders for volumes on its disk and in memory. */
  readonly onDisk: string;
  readonly inMemory: string;
  readonly idMap: number;
  readonly firstUid: number;
}

/** Volumes of the pod last as long as the pod and are shared by its containers; files are made for each container. */
export function stageVolume(context: VolumeContext, mount: ContainerMount, index: number): StagedVolume {
  checkName(mount.name, "the name of a volume");
  const name = `volume-${index}`;
  if (mount.kind === "files") return { ...stageFiles(context, mount, name), path: mount.path, readOnly: true };
  const staged = mount.memory ? stageMemory(context, mount, name) : stageFolder(context, mount, name);
  return { ...staged, path: mount.path, readOnly: mount.readOnly };
}

type EmptyDir = Extract<ContainerMount, { kind: "emptyDir" }>;
type ProjectedFiles = Extract<ContainerMount, { kind: "files" }>;
type Staged = Pick<StagedVolume, "source" | "flags">;

function stageFolder({ stage, onDisk, idMap }: VolumeContext, mount: EmptyDir, name: string): Staged {
  const folder = join(onDisk, mount.name);
  if (mkdirSync(folder, { recursive: true }) !== undefined) {
    chownSync(folder, 0, mount.group ?? 0);
    chmodSync(folder, folderMode(mount));
  }
  return { source: stage.bindFolder(folder, name, { flags: ["noSuid", "noDev"], idMap }), flags: ["nosuid", "nodev"] };
}

function stageMemory({ stage, inMemory, firstUid }: VolumeContext, mount: EmptyDir, name: string): Staged {
  const target = join(inMemory, mount.name);
  mkdirSync(target, { recursive: true });
  if (mountOf(target, mountTable())?.target !== target) {
    const size = mount.sizeBytes === undefined ? {} : { size: mount.sizeBytes };
    const options = { mode: folderMode(mount).toString(8), uid: firstUid, gid: firstUid + (mount.group ?? 0), ...size };
    mountFileSystem({ type: "tmpfs", source: "tmpfs", target, flags: ["noSuid", "noDev"], options });
  }
  return { source: stage.bindFolder(target, name), flags: ["nosuid", "nodev"] };
}

/** What is made in a folder of a group belongs to the group too. */
function folderMode({ group }: EmptyDir): number {
  return group === undefined ? 0o777 : 0o2777;
}

/** In memory, because secrets are among them. */
function stageFiles({ stage, firstUid }: VolumeContext, { files, group = 0 }: ProjectedFiles, name: string): Staged {
  const options = { mode: "0755", uid: firstUid, gid: firstUid };
  const source = stage.fileSystem(name, { type: "tmpfs", source: "tmpfs", flags: ["noSuid", "noDev", "noExec"], options });
  for (const { path, content, mode } of files) {
    checkRelative(path);
    const file = join(source, path);
    makeOwnedFolder(dirname(file), source, firstUid);
    writeFileSync(file, content);
    chownSync(file, firstUid, firstUid + group);
    chmodSync(file, mode);
  }
  return { source, flags: ["nosuid", "nodev", "noexec"] };
}

function makeOwnedFolder(folder: string, top: string, owner: number): void {
  if (folder === top) return;
  makeOwnedFolder(dirname(folder), top, owner);
  if (mkdirSync(folder, { recursive: true }) === undefined) return;
  chownSync(folder, owner, owner);
  chmodSync(folder, 0o755);
}

function checkRelative(path: string): void {
  const parts = path.split("/");
  if (parts.some((part) => part === "" || part === "." || part === "..")) {
    throw new Error(`${JSON.stringify(path)} cannot be the path of a file in a volume: it must lead to a place below the volume`);
  }
}
