/** Carries out what a plan asks for. What goes wrong with a single container is noted in the pod's memory, for the next plan; anything else is thrown. */
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { Clock } from "#lib/clock.ts";
import { Pods } from "#model/pod.ts";
import type { PodRuntime, PodState } from "../../pod-runtime.ts";
import type { NodeCapacity } from "../container/node-capacity.ts";
import { podSlot, type UsualLimits } from "../container/pod-slot.ts";
import type { ContainerLogs } from "../log/container-logs.ts";
import type { Action } from "../plan/action.ts";
import type { NodeFacts } from "../plan/observed.ts";
import type { NodePod } from "../pod-fields.ts";
import type { NodeImages, PodNetwork } from "../ports.ts";
import type { Prober } from "../probe/prober.ts";
import { pullImage } from "./image-pulls.ts";
import type { NodeMetrics } from "./node-metrics.ts";
import type { PodMemory } from "./pod-memory.ts";
import { setFrozen } from "./pause-steps.ts";
import { messageOf, oneMore } from "./retry-delay.ts";
import { createContainer, startContainer } from "./start-steps.ts";
import { beginStop, runPreStop, sendSignal } from "./stop-steps.ts";
import type { Tell } from "./tell.ts";

export interface PodActionDeps {
  readonly client: ObjectClient;
  readonly runtime: PodRuntime;
  readonly images: NodeImages;
  readonly network: PodNetwork;
  readonly clock: Clock;
  readonly logs: ContainerLogs;
  readonly prober: Prober;
  readonly node: NodeFacts;
  readonly capacity: NodeCapacity;
  readonly podLimits: UsualLimits;
  readonly controlPlaneKey: string;
  readonly numbers: NodeMetrics;
}

/** The pod that is worked on. */
export interface PodAtWork {
  readonly pod: NodePod;
  readonly runtime: PodState | undefined;
  readonly memory: PodMemory;
  readonly tell: Tell;
  /** Called by what goes on in the background when there is something new to plan with. */
  readonly wake: () => void;
}

const slotPace = { firstMs: 500, maxMs: 30_000 };

export async function carryOut(deps: PodActionDeps, work: PodAtWork, action: Action, signal: AbortSignal): Promise<void> {
  switch (action.kind) {
    case "ensure-pod":
      return ensureSlot(deps, work);
    case "pull":
      void pullImage(deps, work, action);
      return;
    case "create":
      return createContainer(deps, work, action, signal);
    case "start":
      return startContainer(deps, work, action);
    case "begin-stop":
      return beginStop(deps, work, action);
    case "pre-stop":
      void runPreStop(deps, work, action);
      return;
    case "signal":
      return sendSignal(deps, work, action);
    case "remove-container":
      return deps.runtime.removeContainer(action.id);
    case "set-frozen":
      return setFrozen(deps, work, action.wish);
    case "remove-pod":
      return deps.runtime.removePod(work.pod.metadata.uid);
    case "delete-object":
      return deleteObject(deps, work.pod);
  }
}

async function ensureSlot(deps: PodActionDeps, { pod, runtime, memory, tell }: PodAtWork): Promise<void> {
  try {
    await deps.runtime.ensurePod(podSlot(pod, deps.podLimits));
    memory.slotFailure = undefined;
  } catch (error) {
    const message = messageOf(error);
    memory.slotFailure = oneMore(slotPace, memory.slotFailure, message, deps.clock.now());
    if (runtime === undefined)
      tell({ type: "Warning", reason: "FailedCreatePodSandBox", message: `Failed to create pod sandbox: ${message}` });
    else tell({ type: "Warning", reason: "FailedEgressPolicy", message: `Failed to change where the pod may connect to: ${message}` });
  }
}

/** Somebody else may have been quicker, and another pod may have the name by now. */
async function deleteObject({ client }: PodActionDeps, { metadata: { namespace, name, uid } }: NodePod): Promise<void> {
  try {
    await client.delete(Pods, { namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } });
  } catch (error) {
    if (!isApiError(error, "NotFound", "Conflict")) throw error;
  }
}
