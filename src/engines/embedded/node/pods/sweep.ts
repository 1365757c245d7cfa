/** Removes what nobody owns: leftovers of a life that ended in the middle of something. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { detachBelow } from "#engines/embedded/node/linux/mount-table.ts";
import { sweepStages } from "#engines/embedded/node/rootfs/stage.ts";
import { existingSlots, removeSlot } from "#engines/embedded/node/slots/slot.ts";
import type { NodeContext } from "./node-context.ts";
import type { NodePod } from "./node-pod.ts";
import { namesIn } from "./records.ts";

export async function sweep(context: NodeContext, pods: ReadonlyMap<string, NodePod>): Promise<void> {
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
export function sweepSlots(folder: string, taken: ReadonlySet<number>): void {
  for (const index of existingSlots(folder)) if (!taken.has(index)) removeSlot(folder, index);
}

async function sweepContainers(context: NodeContext, owned: ReadonlySet<string>): Promise<void> {
  for (const name of namesIn(context.paths.runtimes)) {
    const runtime = await context.formerRuntime(name);
    await Promise.all(runtime.list().flatMap((id) => (owned.has(id) ? [] : [runtime.delete(id)])));
  }
}
