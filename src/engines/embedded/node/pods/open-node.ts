/** Takes the machine over: everything that is there is found again, and either adopted or removed. */
import { chmodSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { openCgroups } from "#engines/embedded/node/cgroups/detect.ts";
import { FileLock } from "#engines/embedded/node/linux/file-lock.ts";
import { mountOf, mountTable } from "#engines/embedded/node/linux/mount-table.ts";
import { keepMountsPrivate, mountFileSystem } from "#engines/embedded/node/linux/mounts.ts";
import { adoptOrphans } from "#engines/embedded/node/linux/processes.ts";
import { checkInstanceId } from "#engines/embedded/node/network/address-plan.ts";
import { egressElements } from "#engines/embedded/node/network/egress.ts";
import { SandboxNetwork } from "#engines/embedded/node/network/sandbox-network.ts";
import { type NodePaths, nodePaths } from "#engines/embedded/node/node-paths.ts";
import { Disks } from "#engines/embedded/node/rootfs/disks/choose.ts";
import type { DiskKind } from "#engines/embedded/node/rootfs/disks/pod-disks.ts";
import { detachStages } from "#engines/embedded/node/rootfs/stage.ts";
import { Trash } from "#engines/embedded/node/rootfs/trash.ts";
import { judgeRunc } from "#engines/embedded/node/runtime/known-escapes.ts";
import { OciRuntime, type RuntimeFolders } from "#engines/embedded/node/runtime/oci-runtime.ts";
import { defaultRuntime } from "#engines/embedded/node/runtime/runtime-traits.ts";
import { MountIdMaps } from "#engines/embedded/node/slots/mount-id-maps.ts";
import { makeSlot, removeSlot } from "#engines/embedded/node/slots/slot.ts";
import { SlotPool } from "#engines/embedded/node/slots/slot-pool.ts";
import { adoptPods } from "./adopt-pods.ts";
import { mountDaemon } from "./daemon-mount.ts";
import type { ExitHandler } from "./node-container.ts";
import type { NodeContext } from "./node-context.ts";
import type { NodePod } from "./node-pod.ts";
import { namesIn, PodFolder, type PodRecord } from "./records.ts";
import { checkFileSystem, checkMachine } from "./requirements.ts";
import { waitForStragglers } from "./stragglers.ts";
import { sweep, sweepSlots } from "./sweep.ts";

export interface NodeOptions {
  /** AgentBox' folder; ours is `node` in it. */
  readonly home: string;
  /** Names everything that this instance has in the kernel: 1 to 6 lower-case letters and digits. */
  readonly instance: string;
  readonly network?: {
    readonly subnet?: string | undefined;
    readonly uplinks?: readonly string[] | undefined;
    readonly nameservers?: readonly string[] | undefined;
  };
  /** How many pods there can be at once. */
  readonly slots?: number;
  /** How many slots are kept ready. */
  readonly slotsAhead?: number;
  readonly diskQuota?: DiskKind | undefined;
  /** The folder that containers with the daemon see at /.envd. */
  readonly daemonFolder?: string | undefined;
}

const usualSlots = 1024;
const usualSlotsAhead = 8;
const lockPatienceMs = 1000;
const mostOpenFiles = 65_536;

export interface OpenNode {
  readonly context: NodeContext;
  readonly pods: Map<string, NodePod>;
  readonly close: () => Promise<void>;
}

export async function openNode(options: NodeOptions & { clock: Clock; log: Logger }, onExit: ExitHandler): Promise<OpenNode> {
  checkMachine(process.getuid?.());
  checkInstanceId(options.instance);
  const paths = nodePaths(options.home, options.instance);
  const lock = await lockHome(paths, options);
  const pods = new Map<string, NodePod>();
  let context: NodeContext | undefined;
  try {
    adoptOrphans();
    await waitForStragglers(paths.runtimes, options.clock);
    prepareRunFolder(paths);
    detachStages(paths.stage);
    const parts = await openParts(options, paths, readPodRecords(paths.pods));
    context = parts;
    checkFileSystem(paths.disks, await parts.idMaps.get(parts.network.claim.firstUid));
    await adoptPods(parts, pods, onExit);
    await sweep(parts, pods);
    return { context: parts, pods, close: () => closeParts(parts, pods, lock) };
  } catch (error) {
    if (context === undefined) lock[Symbol.dispose]();
    else await closeParts(context, pods, lock);
    throw error;
  }
}

async function lockHome(paths: NodePaths, { instance, clock }: { instance: string; clock: Clock }): Promise<FileLock> {
  mkdirSync(dirname(paths.lock), { recursive: true });
  // Whoever made the folder: files in it carry the owners that they have inside (node-paths.ts).
  chmodSync(dirname(paths.lock), 0o700);
  // A process that was just being started by a killed one holds its lock for moments.
  const lock = await FileLock.take(paths.lock, clock, lockPatienceMs);
  if (lock === undefined) throw new Error(`another process runs the node ${instance}: it holds ${paths.lock}`);
  return lock;
}

/** A file system of our own, so that no mount in it appears in, or is held by, other mount namespaces of the machine. */
function prepareRunFolder(paths: NodePaths): void {
  mkdirSync(paths.run, { recursive: true });
  if (mountOf(paths.run, mountTable())?.target !== paths.run) {
    mountFileSystem({
      type: "tmpfs",
      source: "agentbox",
      target: paths.run,
      flags: ["noSuid", "noDev", "noExec"],
      options: { mode: "0711" },
    });
    keepMountsPrivate(paths.run);
  }
  for (const folder of [paths.slots, paths.pods, paths.runtimes]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  rmSync(paths.scratch, { recursive: true, force: true });
  mkdirSync(paths.scratch, { mode: 0o700 });
}

function readPodRecords(pods: string): PodRecord[] {
  return namesIn(pods).flatMap((uid) => new PodFolder(pods, uid).readPod() ?? []);
}

async function openParts(
  options: NodeOptions & { clock: Clock; log: Logger },
  paths: NodePaths,
  records: readonly PodRecord[],
): Promise<NodeContext> {
  const { instance, clock, log, slots = usualSlots, slotsAhead = usualSlotsAhead } = options;
  const network = await SandboxNetwork.open({ ...options.network, instance, slots }, records.length > 0, { clock, log });
  await network.loadRules(records.map(({ slot, plan }) => egressElements(network.addressOf(slot), plan.egress)));
  const taken = new Set(records.map(({ slot }) => slot));
  sweepSlots(paths.slots, taken);
  const trash = new Trash(paths.trash, log);
  const idMaps = new MountIdMaps();
  const folders = { state: paths.runtimes, scratch: paths.scratch };
  const pool = new SlotPool(
    {
      slots: network.claim.slots,
      ahead: slotsAhead,
      make: async (index) => {
        const slot = await makeSlot(paths.slots, index, network);
        // Made ahead too: the first container of the pod would wait for it.
        await idMaps.get(slot.firstUid);
        return slot;
      },
      remove: ({ index }) => removeSlot(paths.slots, index),
      clock,
      log,
    },
    taken,
  );
  return {
    paths,
    clock,
    log,
    network,
    slots: pool,
    idMaps,
    cgroups: openCgroups({ instance, clock }, mountTable()),
    disks: new Disks({ kind: options.diskQuota, paths, trash, log }),
    trash,
    runtime: cachedRuntimes(folders, log),
    formerRuntime: (name) => OciRuntime.openAny(name, folders),
    maxOpenFiles: Math.min(mostOpenFiles, openFilesLimit()),
    hasDaemon: mountDaemon(paths, options.daemonFolder),
  };
}

type Pods = ReadonlyMap<string, NodePod>;

async function closeParts({ slots, disks, trash, idMaps, network }: NodeContext, pods: Pods, lock: FileLock): Promise<void> {
  for (const pod of pods.values()) for (const container of pod.containers.values()) container.release();
  await slots.close();
  await Promise.all([disks.close(), trash.close(), idMaps.close()]);
  network.close();
  lock[Symbol.dispose]();
}

/** Each runtime is looked for once; one that was missing is looked for again. */
function cachedRuntimes(folders: RuntimeFolders, log: Logger): NodeContext["runtime"] {
  const known = new Map<string, Promise<OciRuntime>>();
  const look = async (name: string): Promise<OciRuntime> => {
    const found = await OciRuntime.open(name, folders);
    log.info({ runtime: name, version: found.version }, "container runtime found");
    if (found.traits.command === defaultRuntime) refuseEscapes(found, log);
    return found;
  };
  return (name = defaultRuntime) => {
    const found = known.get(name) ?? look(name);
    known.set(name, found);
    found.catch(() => known.delete(name));
    return found;
  };
}

/** For new containers only: those that are there can still be removed. */
function refuseEscapes({ version, build }: OciRuntime, log: Logger): void {
  const verdict = judgeRunc(version, build);
  if (verdict.kind === "refused") throw new Error(verdict.message);
  if (verdict.kind === "weak") log.warn({ version, build, message: verdict.message }, "container runtime should be updated");
}

/** Nobody may raise it for a container above our own without a capability that we may not have. */
function openFilesLimit(): number {
  const hard = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  return hard === "unlimited" ? Number.POSITIVE_INFINITY : Number(hard);
}
