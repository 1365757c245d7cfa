import { egressElements } from "#engines/embedded/node/network/egress.ts";
import { slotAt } from "#engines/embedded/node/slots/slot.ts";
import { type ExitHandler, NodeContainer } from "./node-container.ts";
import type { NodeContext } from "./node-context.ts";
import { NodePod } from "./node-pod.ts";
import { namesIn, PodFolder, type PodRecord } from "./records.ts";

/**
 * Adopts pods and containers that an earlier process left, running or not, by their records; incomplete ones are removed. They are
 * put into `pods` one by one, so that the caller has them even if this fails.
 */
export async function adoptPods(context: NodeContext, pods: Map<string, NodePod>, onExit: ExitHandler): Promise<void> {
  for (const uid of namesIn(context.paths.pods)) {
    const record = new PodFolder(context.paths.pods, uid).readPod();
    // Without a record nothing else was made yet.
    if (record === undefined) continue;
    const pod = recordedPod(context, record);
    pods.set(uid, pod);
    await adoptContainers(context, pod, onExit);
  }
  await Promise.all([...pods.values()].filter((pod) => pod.folder.isRemoving()).map((pod) => finishRemoval(context, pod, pods)));
}

function recordedPod(context: NodeContext, record: PodRecord): NodePod {
  const slot = slotAt(context.paths.slots, record.slot, context.network);
  return new NodePod({ context, record, slot, egress: egressElements(slot.ip, record.plan.egress), isUsed: true });
}

async function adoptContainers(context: NodeContext, pod: NodePod, onExit: ExitHandler): Promise<void> {
  for (const id of pod.folder.containerIds()) {
    const found = pod.folder.readContainer(id);
    if (found === undefined) continue;
    const runtime = await context.formerRuntime(found.runtime);
    const container = new NodeContainer({ context, pod, runtime, record: found, onExit });
    if (await container.adopt()) pod.containers.set(id, container);
    else await container.remove();
  }
}

async function finishRemoval({ log }: NodeContext, pod: NodePod, pods: Map<string, NodePod>): Promise<void> {
  try {
    await pod.remove();
    pods.delete(pod.uid);
  } catch (error) {
    // It stays in the list, so its removal can be tried again; the other pods must not wait for that.
    log.warn({ error, pod: pod.uid }, "could not finish the removal of a pod");
  }
}
