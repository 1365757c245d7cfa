/** Takes the machine over: everything that is there is found again, and either adopted or removed. */
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { totalmem } from "node:os";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { openCgroups } from "#engines/embedded/node/cgroups/detect.ts";
import type { Cgroups } from "#engines/embedded/node/cgroups/cgroups.ts";
import { locksOf, locksOfMachine } from "#engines/embedded/node/linux/held-locks.ts";
import { FileLock } from "#engines/embedded/node/linux/file-lock.ts";
import { mountOf, mountTable, detachBelow } from "#engines/embedded/node/linux/mount-table.ts";
import { keepMountsPrivate, mountFileSystem, detachMount, mountOverlay } from "#engines/embedded/node/linux/mounts.ts";
import { openFilesOfSandboxes } from "#engines/embedded/node/linux/process-limits.ts";
import { adoptOrphans } from "#engines/embedded/node/linux/processes.ts";
import { checkInstanceId } from "#engines/embedded/node/network/address-plan.ts";
import {
  connectionShare,
  entriesOfAll,
  entriesOfMachine,
  type TableRoom,
  wantedEntries,
} from "#engines/embedded/node/network/connection-shares.ts";
import { egressElements } from "#engines/embedded/node/network/egress.ts";
import { SandboxNetwork } from "#engines/embedded/node/network/sandbox-network.ts";
import { type NodePaths, nodePaths } from "#engines/embedded/node/node-paths.ts";
import { Disks } from "#engines/embedded/node/rootfs/disks/choose.ts";
import type { DiskKind } from "#engines/embedded/node/rootfs/disks/pod-disks.ts";
import { detachStages, sweepStages } from "#engines/embedded/node/rootfs/stage.ts";
import { Trash } from "#engines/embedded/node/rootfs/trash.ts";
import { judgeRunc } from "#engines/embedded/node/runtime/known-escapes.ts";
import { OciRuntime, type RuntimeOptions } from "#engines/embedded/node/runtime/oci-runtime.ts";
import { RuntimeCommands } from "#engines/embedded/node/runtime/runtime-commands.ts";
import { defaultRuntime } from "#engines/embedded/node/runtime/runtime-traits.ts";
import { MountIdMaps } from "#engines/embedded/node/slots/mount-id-maps.ts";
import { makeSlot, removeSlot, existingSlots } from "#engines/embedded/node/slots/slot.ts";
import { MountInside } from "#engines/embedded/node/volumes/mount-inside.ts";
import { VolumeDisks } from "#engines/embedded/node/volumes/volume-disks.ts";
import { SlotPool } from "#engines/embedded/node/slots/slot-pool.ts";
import { adoptPods } from "./adopt-pods.ts";
import { type LockedPod, LockWatch } from "./lock-watch.ts";
import { machineSocketBytes, raiseMachineQuotas, tableEntries, wantedQuotas } from "./machine-quotas.ts";
import type { ExitHandler } from "./node-container.ts";
import type { NodeContext } from "./node-context.ts";
import type { NodePod } from "./node-pod.ts";
import { namesIn, PodFolder, type PodRecord } from "./records.ts";
import { checkFileSystem, checkMachine } from "./requirements.ts";
import { waitForStragglers } from "./stragglers.ts";
import { readIfPresent } from "#lib/native/read-if-present.ts";

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
  /** Sandboxes may run on a runtime with known escapes: only where all code in them is trusted. */
  readonly allowVulnerableRuntime?: boolean;
  /** How long a command of the runtime may take. */
  readonly commandMs?: number;
  /** The folder that containers with the daemon see at /.envd. */
  readonly daemonFolder?: string | undefined;
}

const usualSlots = 1024;
const usualSlotsAhead = 8;
const lockPatienceMs = 1000;

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
    const locks = watchLocks(parts, pods);
    return {
      context: parts,
      pods,
      close: async () => {
        await locks.close();
        await closeParts(parts, pods, lock);
      },
    };
  } catch (error) {
    if (context === undefined) lock[Symbol.dispose]();
    else await closeParts(context, pods, lock);
    throw error;
  }
}

function watchLocks({ clock, log, cgroups }: NodeContext, pods: Pods): LockWatch {
  return new LockWatch({ clock, log, locksOfMachine, pods: () => pods.values().map((pod) => lockedPod(pod, cgroups)) });
}

function lockedPod({ uid, containers }: NodePod, cgroups: Cgroups): LockedPod {
  return {
    uid,
    locks: async function* () {
      for (const pid of cgroups.processes(uid)) yield* locksOf(pid);
    },
    kill: async () => {
      await Promise.all(Array.from(containers.values(), (container) => container.killForMemory()));
    },
  };
}

async function lockHome(paths: NodePaths, { instance, clock }: { instance: string; clock: Clock }): Promise<FileLock> {
  mkdirSync(dirname(paths.lock), { recursive: true });
  // Also for a folder that existed before: files in it carry the owners that they have inside a sandbox (node-paths.ts).
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
  await shareConnections(network, records, log);
  const taken = new Set(records.map(({ slot }) => slot));
  sweepSlots(paths.slots, taken);
  const trash = new Trash(paths.trash, log);
  const idMaps = new MountIdMaps();
  const commands = new RuntimeCommands(clock, options.commandMs);
  const runtimes = { state: paths.runtimes, scratch: paths.scratch, clock, commands };
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
      remove: ({ index }) => {
        removeSlot(paths.slots, index);
        network.removed(index);
      },
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
    volumes: new VolumeDisks({ files: paths.volumes, mounts: paths.volumeMounts }),
    mountInside: new MountInside(),
    runtime: cachedRuntimes(runtimes, options),
    formerRuntime: (name) => OciRuntime.openAny(name, runtimes),
    commands,
    maxOpenFiles: openFilesOfSandboxes(),
    socketBytes: machineSocketBytes(),
    hasDaemon: mountDaemon(paths, options.daemonFolder),
  };
}

/**
 * Loads the firewall, and raises what the machine's sandboxes share. The kernel makes its table of connections when the first rule asks for it,
 * so the shares are those of the table that we want, until it is known which one there is.
 */
async function shareConnections(network: SandboxNetwork, records: readonly PodRecord[], log: Logger): Promise<void> {
  const egress = records.map(({ slot, plan }) => egressElements(network.addressOf(slot), plan.egress));
  const room: TableRoom = { slots: network.claim.slots, memoryBytes: totalmem() };
  const wanted = connectionShare(wantedEntries(room), room);
  await network.loadRules(egress, wanted);
  raiseMachineQuotas(wantedQuotas(room), log);
  const entries = tableEntries() ?? wantedEntries(room);
  const share = connectionShare(entries, room);
  log.info({ entries, share }, "each sandbox has its share of the machine's table of connections");
  if (entriesOfAll(share, room) > entries - entriesOfMachine) {
    log.warn(
      { entries, wanted: wantedEntries(room) },
      "sandboxes together can fill the machine's table of connections: raise net.netfilter.nf_conntrack_max",
    );
  }
  if (!isDeepStrictEqual(share, wanted)) await network.loadRules(egress, share);
}

type Pods = ReadonlyMap<string, NodePod>;

async function closeParts({ slots, disks, trash, idMaps, network, mountInside }: NodeContext, pods: Pods, lock: FileLock): Promise<void> {
  for (const pod of pods.values()) for (const container of pod.containers.values()) container.release();
  await slots.close();
  await Promise.all([disks.close(), trash.close(), idMaps.close(), mountInside[Symbol.asyncDispose]()]);
  await network.close();
  lock[Symbol.dispose]();
}

type RuntimeSettings = Pick<NodeOptions, "allowVulnerableRuntime"> & { readonly log: Logger };

/** Each runtime is looked for once; one that was missing is looked for again. */
function cachedRuntimes(options: RuntimeOptions, settings: RuntimeSettings): NodeContext["runtime"] {
  const known = new Map<string, Promise<OciRuntime>>();
  const look = async (name: string): Promise<OciRuntime> => {
    const found = await OciRuntime.open(name, options);
    settings.log.info({ runtime: name, version: found.version }, "container runtime found");
    if (found.traits.command === defaultRuntime) refuseEscapes(found, settings);
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
function refuseEscapes({ version, build }: OciRuntime, { allowVulnerableRuntime = false, log }: RuntimeSettings): void {
  const verdict = judgeRunc(version, build);
  if (verdict.kind === "fine") return;
  if (verdict.kind === "refused" || !allowVulnerableRuntime) throw new Error(verdict.message);
  log.warn(
    { version, build, message: verdict.message },
    "sandboxes can escape: the container runtime has known holes, and a setting allows it",
  );
}

/**
 * Mounts the daemon's folder so that the mount does not reveal where the folder is on the machine; all sandboxes share its pages.
 * Containers that were made with another folder keep that one. False without a folder.
 */
function mountDaemon(paths: NodePaths, folder: string | undefined): boolean {
  if (folder === undefined) return false;
  const note = join(paths.run, "daemon-folder");
  const empty = join(paths.run, "empty");
  if (readIfPresent(note) === folder) return true;
  mkdirSync(paths.daemon, { recursive: true });
  mkdirSync(empty, { recursive: true });
  detachMount(paths.daemon);
  // Two layers, because an overlay without an upper must have two.
  mountOverlay({ lowers: [folder, empty], target: paths.daemon, flags: ["readOnly", "noSuid", "noDev"] });
  writeFileSync(note, folder);
  return true;
}

/** Removes leftovers that no pod owns: an earlier process was killed in the middle of its work. */
async function sweep(context: NodeContext, pods: ReadonlyMap<string, NodePod>): Promise<void> {
  const containers = new Set([...pods.values()].flatMap((pod) => [...pod.containers.keys()]));
  sweepStages(context.paths.stage, containers);
  await sweepContainers(context, containers);
  await Promise.all(context.cgroups.pods().flatMap((uid) => (pods.has(uid) ? [] : [context.cgroups.removePod(uid)])));
  for (const disks of context.disks.all()) {
    await Promise.all(disks.pods().flatMap((uid) => (pods.has(uid) ? [] : [disks.remove(uid)])));
  }
  for (const uid of namesIn(context.paths.pods)) {
    if (pods.has(uid)) continue;
    detachBelow(join(context.paths.pods, uid));
    rmSync(join(context.paths.pods, uid), { recursive: true, force: true });
  }
}

/** Before the pool begins to make slots: then all that are there are old. */
function sweepSlots(folder: string, taken: ReadonlySet<number>): void {
  for (const index of existingSlots(folder)) if (!taken.has(index)) removeSlot(folder, index);
}

async function sweepContainers(context: NodeContext, owned: ReadonlySet<string>): Promise<void> {
  for (const name of namesIn(context.paths.runtimes)) {
    const runtime = await context.formerRuntime(name);
    await Promise.all(runtime.list().flatMap((id) => (owned.has(id) ? [] : [runtime.delete(id)])));
  }
}
