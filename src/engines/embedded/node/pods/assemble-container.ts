/** Puts a container's file systems in place and writes down for the runtime what it is to be. */
import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readInsideRoot } from "#engines/embedded/node/linux/inside-root.ts";
import type { ContainerPlan } from "#engines/embedded/node/pod-runtime.ts";
import { podFileNames } from "#engines/embedded/node/rootfs/pod-files.ts";
import { type MountedRoot, mountRoot } from "#engines/embedded/node/rootfs/root-file-system.ts";
import { refuseSpecialFiles } from "#engines/embedded/node/rootfs/special-files.ts";
import { Stage } from "#engines/embedded/node/rootfs/stage.ts";
import { stageVolume } from "#engines/embedded/node/rootfs/volumes.ts";
import type { OciRuntime } from "#engines/embedded/node/runtime/oci-runtime.ts";
import { bind, renderSpec, type SpecMount } from "#engines/embedded/node/runtime/spec/container-spec.ts";
import { type AccountFiles, resolveUser } from "#engines/embedded/node/runtime/spec/user.ts";
import { hasCode } from "#lib/native/files.ts";
import { daemonPath } from "#model/daemon-command.ts";
import type { NodeContext } from "./node-context.ts";
import type { NodePod } from "./node-pod.ts";

/** Larger ones are not read: an image may bring anything. */
const largestAccountFile = 1 << 20;

export interface Assembled {
  /** To be cleared once the runtime has taken everything from it. */
  readonly stage: Stage;
  /** The id outside of the user that the container's process will run as. */
  readonly owner: number;
}

export async function assemble(context: NodeContext, pod: NodePod, plan: ContainerPlan, runtime: OciRuntime): Promise<Assembled> {
  const idMap = await context.idMaps.get(pod.slot.firstUid);
  const stage = new Stage(context.paths.stage, plan.id);
  try {
    pod.writeFiles();
    const writable = join(pod.diskFolder, "layers", plan.id);
    mkdirSync(writable, { recursive: true, mode: 0o700 });
    const mounted = mountRoot(stage, { image: plan.image, writable, idMap });
    refuseSpecialFiles(mounted.root, {
      podFiles: podFileNames.map((name) => `/etc/${name}`),
      program: plan.argv[0] ?? "",
      workingDir: plan.workingDir,
    });
    const accounts = accountFiles(mounted.root);
    if (runtime.traits.opaque) pod.folder.writeAccounts(plan.id, accounts);
    const user = resolveUser(plan.security.user, accounts, plan.security.supplementalGroups);
    const spec = renderSpec({
      plan,
      user,
      hostname: pod.plan.hostname,
      root: mounted.root,
      mounts: mountsOf({ context, pod, plan, stage, mounted, idMap }),
      namespaces: { user: pod.slot.userNamespace, network: pod.slot.networkNamespace },
      firstUid: pod.slot.firstUid,
      cgroupsPath: context.cgroups.pathOf(pod.uid, plan.id),
      maxOpenFiles: context.maxOpenFiles,
      countsSwap: context.cgroups.countsSwap,
      disks: diskLinks(),
      machine: process.arch,
    });
    writeFileSync(join(pod.folder.container(plan.id), "config.json"), JSON.stringify(runtime.traits.adapt(spec)));
    return { stage, owner: pod.slot.firstUid + user.uid };
  } catch (error) {
    stage.clear();
    throw error;
  }
}

function diskLinks(): string[] {
  const folder = "/sys/block";
  return readdirSync(folder).flatMap((name) => {
    try {
      return [readlinkSync(join(folder, name))];
    } catch (error) {
      // It was taken away meanwhile.
      if (hasCode(error, "ENOENT")) return [];
      throw error;
    }
  });
}

/** The users and groups of a root file system, from its own files. */
export function accountFiles(root: string): AccountFiles {
  const read = (path: string): string => readInsideRoot(root, path, largestAccountFile) ?? "";
  return { passwd: read("etc/passwd"), group: read("etc/group") };
}

interface MountSources {
  readonly context: NodeContext;
  readonly pod: NodePod;
  readonly plan: ContainerPlan;
  readonly stage: Stage;
  readonly mounted: MountedRoot;
  readonly idMap: number;
}

function mountsOf({ context, pod, plan, stage, mounted, idMap }: MountSources): SpecMount[] {
  const usr = mounted.usr === undefined ? [] : [bind(mounted.usr, "/usr", ["nodev"])];
  const files = podFileNames.map((name) =>
    bind(stage.bindFile(join(pod.folder.etc, name), name), `/etc/${name}`, ["nosuid", "nodev", "noexec"]),
  );
  const volumes = { stage, idMap, firstUid: pod.slot.firstUid, onDisk: join(pod.diskFolder, "volumes"), inMemory: pod.folder.volumes };
  const staged = plan.mounts.map((mount, index) => {
    const { source, path, readOnly, flags } = stageVolume(volumes, mount, index);
    return bind(source, path, [...flags, readOnly ? "ro" : "rw"]);
  });
  return [...usr, ...files, ...staged, ...(plan.daemon ? [daemonMount(context)] : [])];
}

function daemonMount(context: NodeContext): SpecMount {
  if (!context.hasDaemon) throw new Error("this node was opened without the daemon's folder, and the container is to have the daemon");
  return bind(context.paths.daemon, daemonPath, ["ro", "nosuid", "nodev"]);
}
