/**
 * What the cluster leaves outside its folder, and how it goes: containers with their shims, mounts, control groups, and the
 * few files that containerd, CNI and kubelet put at places of their own choice.
 */
import { globSync, lstatSync, readdirSync, readlinkSync, rmdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { detachBelow, mountTable } from "#engines/embedded/node/linux/mount-table.ts";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import { hasCode } from "#lib/native/files.ts";
import { processesInGroups, removeControlGroups } from "./control-groups.ts";
import { type ClusterLayout, ownName } from "./layout.ts";
import { waitUntil } from "./progress.ts";

/** The processes of all containers, and those that look after them; containerd must be gone, or it would make new ones. */
export async function endContainers(layout: ClusterLayout): Promise<void> {
  await waitUntil(
    "the end of the cluster's containers",
    async () => {
      const living = [...shims(layout), ...processesInGroups()].filter((pid) => !isDead(pid));
      for (const pid of living) kill(pid);
      return living.length === 0;
    },
    () => undefined,
  );
}

export async function removeTraces(layout: ClusterLayout): Promise<void> {
  detachBelow(layout.folder);
  await waitUntil(
    "the removal of the cluster's control groups",
    async () => removeControlGroups(),
    () => undefined,
  );
  for (const file of strayFiles(layout)) rmSync(file, { recursive: true, force: true });
  for (const folder of foldersOfOthers) removeIfEmpty(folder);
}

/** Whatever a fresh `make cluster` would find of an old one, for tests and for the last look of `make cluster-down`. */
export function tracesOf(layout: ClusterLayout): readonly string[] {
  return [
    ...mountTable()
      .filter(({ target }) => target.startsWith(`${layout.folder}/`))
      .map(({ target }) => `mount ${target}`),
    ...[...shims(layout), ...processesInGroups()].filter((pid) => !isDead(pid)).map((pid) => `process ${pid}`),
    ...strayFiles(layout).map((file) => `file ${file}`),
  ];
}

/** Removed by us only when nothing is left in them, deepest first. */
const foldersOfOthers = [
  "/run/containerd/s",
  "/run/containerd",
  "/var/lib/cni/results",
  "/var/lib/cni/cache",
  "/var/lib/cni",
  "/var/log/containers",
  "/var/log/pods",
  "/var/lib/kubelet/device-plugins",
  "/var/lib/kubelet",
];

function strayFiles(layout: ClusterLayout): readonly string[] {
  return [...deadSockets(), ...networkResults(), ...logLinks(layout), ...deadDeviceSocket()];
}

/** Of shims that were killed; a living one listens. */
function deadSockets(): readonly string[] {
  const listening = readIfPresent("/proc/net/unix") ?? "";
  return globSync("/run/containerd/s/*").filter((socket) => !listening.includes(socket));
}

/** libcni notes there what it gave to which container. */
function networkResults(): readonly string[] {
  return globSync([`/var/lib/cni/results/${ownName}-*`, `/var/lib/cni/cache/*/${ownName}-*`]);
}

/** kubelet links every log there, wherever the log is. */
function logLinks(layout: ClusterLayout): readonly string[] {
  return globSync("/var/log/containers/*").filter(
    (link) => lstatSync(link).isSymbolicLink() && readlinkSync(link).startsWith(`${layout.folder}/`),
  );
}

/** For device plugins kubelet listens at a place that cannot be chosen. */
function deadDeviceSocket(): readonly string[] {
  const socket = "/var/lib/kubelet/device-plugins/kubelet.sock";
  const listens = (readIfPresent("/proc/net/unix") ?? "").includes(socket);
  return listens ? [] : globSync(`${dirname(socket)}/{kubelet.sock,kubelet_internal_checkpoint,DEPRECATION}`);
}

/** Each shim serves one pod; its arguments name the cluster that it belongs to. */
function shims(layout: ClusterLayout): readonly number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => {
      const args = commandLine(pid);
      return (args[0] ?? "").endsWith("containerd-shim-runc-v2") && args.includes(layout.containerdSocket);
    });
}

function commandLine(pid: number): readonly string[] {
  try {
    return (readIfPresent(`/proc/${pid}/cmdline`) ?? "").split("\0");
  } catch (error) {
    if (hasCode(error, "ESRCH")) return [];
    throw error;
  }
}

/** A zombie waits for the machine's first process, which takes its time. */
function isDead(pid: number): boolean {
  try {
    return /\) [ZX] /.test(readIfPresent(`/proc/${pid}/stat`) ?? ") X ");
  } catch (error) {
    if (hasCode(error, "ESRCH")) return true;
    throw error;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (!hasCode(error, "ESRCH")) throw error;
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    if (!hasCode(error, "ENOENT", "ENOTEMPTY", "EEXIST")) throw error;
  }
}
