/** How a pod is reported: its phase, its conditions, its addresses, and its containers. */
import { kubernetesTime } from "#lib/clock.ts";
import { podConditions as ownConditions } from "#model/keys.ts";
import type { ContainerStatus, PodPhase, PodStatus } from "#model/pod.ts";
import { containerStatus, type Course } from "./container-status.ts";
import { egressFinding } from "./egress.ts";
import { type Ending, isOver } from "./end-pod.ts";
import type { Scene } from "./move.ts";
import { pauseFinding } from "./pausing.ts";
import { podConditions } from "./pod-conditions.ts";
import { restFinding } from "./resting.ts";
import { volumesFinding } from "./volumes.ts";

/** The whole status as it should be stored. Fields that are not named belong to others. */
export function podStatus(scene: Scene, course: Course, ending: Ending | undefined): PodStatus {
  const { pod, observed, views, now } = scene;
  const { status: stored, metadata } = pod;
  const reports = views.map((view) => ({ isInit: view.isInit, status: containerStatus(scene, view, course) }));
  const containers = reports.filter(({ isInit }) => !isInit).map(({ status }) => status);
  const initContainers = reports.filter(({ isInit }) => isInit).map(({ status }) => status);
  const phase = phaseOf(scene, { containers, initContainers }, ending);
  const answers = {
    [ownConditions.egressPolicy]: egressFinding(scene),
    [ownConditions.volumeMounts]: volumesFinding(scene),
    [ownConditions.paused]: pauseFinding(scene, course.isEnding),
    [ownConditions.atRest]: restFinding(scene),
  };
  const facts = { pod, hasSlot: observed.runtime !== undefined, answers, now };
  const podIP = observed.runtime?.ip ?? stored.podIP;
  const isRefused = ending?.verdict !== undefined && stored.startTime === undefined;
  return {
    phase,
    ...reasonOf(scene, phase, ending),
    ...(metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }),
    conditions: podConditions({ ...facts, phase, containers, initContainers }),
    hostIP: observed.node.hostIP,
    hostIPs: [{ ip: observed.node.hostIP }],
    ...(podIP === undefined ? {} : { podIP, podIPs: [{ ip: podIP }] }),
    ...(isRefused ? {} : { startTime: stored.startTime ?? kubernetesTime(now) }),
    ...(initContainers.length === 0 ? {} : { initContainerStatuses: initContainers }),
    containerStatuses: containers,
  };
}

function reasonOf({ pod }: Scene, phase: PodPhase, ending: Ending | undefined): Pick<PodStatus, "reason" | "message"> {
  if (ending?.verdict !== undefined) return ending.verdict;
  const { phase: before, reason, message } = pod.status;
  // They belong to the phase that they came with.
  if (phase !== before) return {};
  return { ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
}

interface Reports {
  readonly containers: readonly ContainerStatus[];
  readonly initContainers: readonly ContainerStatus[];
}

function phaseOf({ pod }: Scene, { containers, initContainers }: Reports, ending: Ending | undefined): PodPhase {
  if (isOver(pod) && pod.status.phase !== undefined) return pod.status.phase;
  if (ending?.verdict !== undefined) return "Failed";
  const { restartPolicy } = pod.spec;
  if (restartPolicy === "Never" && initContainers.map(endOf).includes("failed")) return "Failed";
  const ends = new Set(containers.map(endOf));
  if (ends.has("waiting")) return "Pending";
  if (ends.has("running") || ends.has("restarting")) return "Running";
  return ends.has("failed") ? "Failed" : "Succeeded";
}

type End = "waiting" | "running" | "restarting" | "succeeded" | "failed";

/** A container that waits has either never run, or will run again. */
function endOf({ state, lastState }: ContainerStatus): End {
  if (state?.running !== undefined) return "running";
  if (state?.terminated !== undefined) return state.terminated.exitCode === 0 ? "succeeded" : "failed";
  return lastState?.terminated === undefined ? "waiting" : "restarting";
}
