import { egressElements } from "#engines/embedded/node/network/egress.ts";
import { slotAt } from "#engines/embedded/node/slots/slot.ts";
import { type ExitHandler, NodeContainer } from "./node-container.ts";
import type { NodeContext } from "./node-context.ts";
import { NodePod } from "./node-pod.ts";
import { namesIn, PodFolder, type PodRecord } from "./records.ts";

/** Pods and containers that an earlier life has left, running or not, as their records say. What is not whole is removed. */
export async function adoptPods(context: NodeContext, onExit: ExitHandler): Promise<Map<string, NodePod>> {
  const pods = new Map<string, NodePod>();
  for (const uid of namesIn(context.paths.pods)) {
    const record = new PodFolder(context.paths.pods, uid).readPod();
    // Without a record nothing else was made yet.
    if (record !== undefined) pods.set(uid, await adoptPod(context, record, onExit));
  }
  await Promise.all([...pods.values()].filter((pod) => pod.folder.isRemoving()).map((pod) => finishRemoval(pod, pods)));
  return pods;
}

async function adoptPod(context: NodeContext, record: PodRecord, onExit: ExitHandler): Promise<NodePod> {
  const slot = slotAt(context.paths.slots, record.slot, context.network);
  const pod = new NodePod({ context, record, slot, egress: egressElements(slot.ip, record.plan.egress) });
  for (const id of pod.folder.containerIds()) {
    const found = pod.folder.readContainer(id);
    if (found === undefined) continue;
    const runtime = await context.runtime(found.runtime);
    const container = new NodeContainer({ context, pod, runtime, record: found, onExit });
    if (await container.adopt()) pod.containers.set(id, container);
    else await container.remove();
  }
  return pod;
}

async function finishRemoval(pod: NodePod, pods: Map<string, NodePod>): Promise<void> {
  await pod.remove();
  pods.delete(pod.uid);
}
