import { rmSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { openCgroups } from "#engines/embedded/node/cgroups/detect.ts";
import { FileLock } from "#engines/embedded/node/linux/file-lock.ts";
import { detachBelow, mountTable } from "#engines/embedded/node/linux/mount-table.ts";
import { removeMountPoint } from "#engines/embedded/node/linux/mounts.ts";
import { removeNetwork } from "#engines/embedded/node/network/sandbox-network.ts";
import { type NodePaths, nodePaths } from "#engines/embedded/node/node-paths.ts";
import { type NodeOptions, openNode } from "./open-node.ts";

type EraseOptions = NodeOptions & { readonly clock: Clock; readonly log: Logger };

/** Removes an instance from the machine: its pods, its network, its groups and its folders. Fails while a process runs it. */
export async function eraseNode(options: EraseOptions): Promise<void> {
  const paths = nodePaths(options.home, options.instance);
  try {
    await removePods(options);
  } catch (error) {
    // Another version of AgentBox may have left files that this one cannot read. They are still known to belong to this instance.
    await removeUnseen(options, paths, error);
  }
  await removeNetwork(options.instance);
  detachBelow(paths.run);
  removeMountPoint(paths.run);
  rmSync(dirname(paths.lock), { recursive: true, force: true });
}

async function removePods(options: EraseOptions): Promise<void> {
  const { context, pods, close } = await openNode({ ...options, slotsAhead: 0, daemonFolder: undefined }, () => {});
  const { cgroups, trash } = context;
  try {
    await Promise.all([...pods.values()].map((pod) => pod.remove()));
    await cgroups.removeInstance();
    await trash.emptied();
  } finally {
    await close();
  }
}

/** By the instance's name alone: kills all that runs in its groups. Mounts, files and links go after it. */
async function removeUnseen({ instance, clock, log }: EraseOptions, paths: NodePaths, cause: unknown): Promise<void> {
  using lock = await FileLock.take(paths.lock, clock, 0);
  // Another process runs the instance, and that was the cause.
  if (lock === undefined) throw cause;
  log.warn({ error: cause, instance }, "what is left on the machine cannot be read and is removed unseen");
  await openCgroups({ instance, clock }, mountTable()).removeInstance();
}
