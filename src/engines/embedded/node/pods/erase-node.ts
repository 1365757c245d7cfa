import { rmSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { detachBelow } from "#engines/embedded/node/linux/mount-table.ts";
import { removeMountPoint } from "#engines/embedded/node/linux/mounts.ts";
import { removeNetwork } from "#engines/embedded/node/network/sandbox-network.ts";
import { type NodeOptions, openNode } from "./open-node.ts";

/** Removes an instance from the machine: its pods, its network, its groups and its folders. Fails while a process runs it. */
export async function eraseNode(options: NodeOptions & { readonly clock: Clock; readonly log: Logger }): Promise<void> {
  const { context, pods, close } = await openNode({ ...options, slotsAhead: 0, daemonFolder: undefined }, () => {});
  const { paths, cgroups, trash } = context;
  await Promise.all([...pods.values()].map((pod) => pod.remove()));
  await cgroups.removeInstance();
  await trash.emptied();
  await close();
  await removeNetwork(options.instance);
  detachBelow(paths.run);
  removeMountPoint(paths.run);
  rmSync(dirname(paths.lock), { recursive: true, force: true });
}
