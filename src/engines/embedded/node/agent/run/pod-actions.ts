/** Carries out what a plan asks for. What goes wrong with a single container is noted in the pod's memory, for the next plan; anything else is thrown. */
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { Clock } from "#lib/clock.ts";
import { Pods } from "#model/pod.ts";
import type { PodRuntime, PodState } from "#engines/embedded/node/pod-runtime.ts";
import type { NodeCapacity } from "#engines/embedded/node/agent/container/node-capacity.ts";
import { podSlot, type UsualLimits } from "#engines/embedded/node/agent/container/pod-slot.ts";
import type { ContainerLogs } from "#engines/embedded/node/agent/log/container-logs.ts";
import type { Action } from "#engines/embedded/node/agent/plan/action.ts";
import type { NodeFacts } from "#engines/embedded/node/agent/plan/observed.ts";
import type { NodePod } from "#engines/embedded/node/agent/node-pod.ts";
import type { NodeImages, PodNetwork } from "#engines/embedded/node/agent/ports.ts";
import type { Prober } from "#engines/embedded/node/agent/probe/prober.ts";
import { pullImage } from "./image-pulls.ts";
import type { NodeMetrics } from "./node-metrics.ts";
import type { TeamOfPool } from "./pod-places.ts";
import type { PodMemory } from "./pod-memory.ts";
import { messageOf, oneMore } from "./retry-delay.ts";
import { createContainer, startContainer } from "./start-steps.ts";
import type { Tell } from "./tell.ts";
import { podConditionReasons } from "#model/keys.ts";
import { pauseWish } from "#model/pause.ts";
import { ask } from "#engines/embedded/node/agent/probe/ask.ts";

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
  readonly teamOfPool?: TeamOfPool | undefined;
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
  if (isOfPod(action)) return carryOutOnPod(deps, work, action);
  switch (action.kind) {
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
  }
}

const podActions = ["ensure-pod", "mount-volumes", "set-frozen", "remove-pod", "delete-object"] as const;
type PodAction = Extract<Action, { kind: (typeof podActions)[number] }>;

function isOfPod(action: Action): action is PodAction {
  return podActions.some((kind) => kind === action.kind);
}

/** What is about the pod as a whole. */
async function carryOutOnPod(deps: PodActionDeps, work: PodAtWork, action: PodAction): Promise<void> {
  switch (action.kind) {
    case "ensure-pod":
      return ensureSlot(deps, work);
    case "mount-volumes":
      return mountVolumes(deps, work, action);
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

/** What fails is the answer to the wish: its sandbox does not start, and its pod is replaced. */
async function mountVolumes(
  { runtime }: PodActionDeps,
  { pod, memory, tell }: PodAtWork,
  { wish, volumes }: Extract<Action, { kind: "mount-volumes" }>,
): Promise<void> {
  try {
    await runtime.mountVolumes(pod.metadata.uid, volumes);
  } catch (error) {
    const message = messageOf(error);
    memory.mountFailed = { wish, message };
    tell({ type: "Warning", reason: "FailedMount", message: `Volumes cannot be mounted: ${message}` });
  }
}

/** The object may be deleted already, and another pod may have the name by now; both are no error. */
async function deleteObject({ client }: PodActionDeps, { metadata: { namespace, name, uid } }: NodePod): Promise<void> {
  try {
    await client.delete(Pods, { namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } });
  } catch (error) {
    if (!isApiError(error, "NotFound", "Conflict")) throw error;
  }
}

/**
 * Freezing a pod, because it is paused or rests, and letting it go on.
 *
 * Freezes for a wish; without one, thaws. A freeze that fails is the answer to its wish; a thaw that fails is tried again.
 */
async function setFrozen(deps: PodActionDeps, { pod, memory, tell }: PodAtWork, wish: string | undefined): Promise<void> {
  const { uid } = pod.metadata;
  if (wish === undefined) return deps.runtime.thawPod(uid);
  // A question that is under way would be answered by silence.
  deps.prober.forget(uid);
  try {
    await deps.runtime.freezePod(uid);
  } catch (error) {
    const message = messageOf(error);
    memory.freezeFailed = { wish, message };
    tell({
      type: "Warning",
      reason: podConditionReasons.freezeFailed,
      message: `The pod cannot be ${pauseWish(pod) === wish ? "paused" : "frozen while it rests"}: ${message}`,
    });
  }
}

/** Stopping a container: note, hook, signals. */
async function beginStop(
  { clock }: PodActionDeps,
  { memory, tell }: PodAtWork,
  action: Extract<Action, { kind: "begin-stop" }>,
): Promise<void> {
  const { id, graceMs, container, why } = action;
  const hasHook = container.lifecycle?.preStop !== undefined && graceMs > 0;
  memory.stops.set(id, { beganAt: clock.now(), graceMs, ...(hasHook ? { preStop: "due" } : {}) });
  tell({ type: "Normal", reason: "Killing", message: why }, container);
}

async function sendSignal(
  { clock, runtime }: PodActionDeps,
  { memory }: PodAtWork,
  { id, signal }: Extract<Action, { kind: "signal" }>,
): Promise<void> {
  await runtime.signalContainer(id, signal);
  memory.noteStop(id, signal === "SIGKILL" ? { killedAt: clock.now() } : { signalledAt: clock.now() });
}

async function runPreStop(deps: PodActionDeps, work: PodAtWork, action: Extract<Action, { kind: "pre-stop" }>): Promise<void> {
  const { memory, tell, wake, runtime } = work;
  const { container, id, withinMs } = action;
  memory.noteStop(id, { preStop: "running" });
  const asked = { id, address: runtime?.ip ?? "", container };
  const answer = await ask(deps, asked, container.lifecycle?.preStop ?? {}, { timeoutMs: withinMs, signal: memory.signal });
  if (memory.signal.aborted) return;
  memory.noteStop(id, { preStop: "done" });
  if (!answer.ok) tell({ type: "Warning", reason: "FailedPreStopHook", message: "PreStopHook failed" }, container);
  wake();
}
