import { isApiError } from "#kube/api-error.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { type Clock, kubernetesTime } from "#lib/clock.ts";
import type { PlannedEvent } from "../plan/action.ts";
import type { NodeFacts } from "../plan/observed.ts";
import { type NodeLabels, placementOf } from "../plan/placement.ts";
import type { NodePod } from "../node-pod.ts";
import type { PodBinder } from "../ports.ts";
import { writeStatus } from "./write-status.ts";

export interface PlaceDeps {
  readonly client: ObjectClient;
  readonly binder: PodBinder;
  readonly clock: Clock;
  readonly node: NodeFacts;
  readonly nodeLabels: NodeLabels;
}

/** Gives a pod without a node this one, or says why not. */
export async function placePod(deps: PlaceDeps, pod: NodePod, record: (event: PlannedEvent) => void): Promise<Requeue> {
  const placement = placementOf(pod, deps.nodeLabels);
  if (placement.kind === "here") await bind(deps, pod, record);
  if (placement.kind === "nowhere") await refuse(deps, pod, placement.message, record);
  return undefined;
}

async function bind({ binder, node }: PlaceDeps, { metadata }: NodePod, record: (event: PlannedEvent) => void): Promise<void> {
  const { namespace, name } = metadata;
  try {
    await binder.bind({ namespace, name }, node.name);
    record({ type: "Normal", reason: "Scheduled", message: `Successfully assigned ${namespace}/${name} to ${node.name}` });
  } catch (error) {
    // It is gone, or has a node by now: the cache will say so.
    if (!isApiError(error, "NotFound", "Conflict")) throw error;
  }
}

async function refuse(deps: PlaceDeps, pod: NodePod, message: string, record: (event: PlannedEvent) => void): Promise<void> {
  const conditions = pod.status.conditions ?? [];
  const before = conditions.find(({ type }) => type === "PodScheduled");
  if (before?.status === "False" && before.message === message) return;
  record({ type: "Warning", reason: "FailedScheduling", message });
  const since = before?.status === "False" ? before.lastTransitionTime : undefined;
  const scheduled = {
    type: "PodScheduled",
    status: "False",
    reason: "Unschedulable",
    message,
    lastProbeTime: null,
    lastTransitionTime: since ?? kubernetesTime(deps.clock.now()),
  } as const;
  await writeStatus(deps.client, pod, { conditions: [...conditions.filter(({ type }) => type !== "PodScheduled"), scheduled] });
}
