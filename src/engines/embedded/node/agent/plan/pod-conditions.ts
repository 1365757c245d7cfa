/** The conditions of a pod, as a kubelet writes them; those of others are left as they are. */
import { kubernetesTime } from "#lib/clock.ts";
import type { ContainerStatus, PodCondition, PodPhase } from "#model/pod.ts";
import type { NodePod } from "../node-pod.ts";

export type Finding = Pick<PodCondition, "status" | "reason" | "message">;

export interface ConditionFacts {
  readonly pod: NodePod;
  readonly phase: PodPhase;
  readonly containers: readonly ContainerStatus[];
  readonly initContainers: readonly ContainerStatus[];
  readonly hasSlot: boolean;
  /** To wishes that only pods of ours have, by condition; undefined where there is nothing to tell. */
  readonly answers: Readonly<Record<string, Finding | undefined>>;
  readonly now: number;
}

const isTrue: Finding = { status: "True" };

export function podConditions(facts: ConditionFacts): readonly PodCondition[] {
  const containersReady = containersReadyOf(facts);
  const ours: Readonly<Record<string, Finding>> = {
    PodReadyToStartContainers: { status: facts.hasSlot ? "True" : "False" },
    Initialized: initializedOf(facts),
    Ready: readyOf(facts, containersReady),
    ContainersReady: containersReady,
    PodScheduled: isTrue,
    ...Object.fromEntries(Object.entries(facts.answers).flatMap(([type, finding]) => (finding === undefined ? [] : [[type, finding]]))),
  };
  const before = facts.pod.status.conditions ?? [];
  return [
    // One that we told and have nothing to tell of any more goes.
    ...before.filter(({ type }) => !Object.hasOwn(ours, type) && !Object.hasOwn(facts.answers, type)),
    ...Object.entries(ours).map(([type, finding]) =>
      condition(
        type,
        finding,
        before.find((one) => one.type === type),
        facts,
      ),
    ),
  ];
}

/** The time of a transition is that of the last change of the status, not of the reason. */
function condition(type: string, finding: Finding, before: PodCondition | undefined, { pod, now }: ConditionFacts): PodCondition {
  const { generation } = pod.metadata;
  const since = before?.status === finding.status ? before.lastTransitionTime : undefined;
  return {
    type,
    ...finding,
    lastProbeTime: null,
    lastTransitionTime: since ?? kubernetesTime(now),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
}

function initializedOf({ phase, containers, initContainers }: ConditionFacts): Finding {
  if (phase === "Succeeded") return { status: "True", reason: "PodCompleted" };
  const incomplete = initContainers.filter(({ ready }) => !ready).map(({ name }) => name);
  const hasBegun = containers.some(({ containerID }) => containerID !== undefined);
  if (incomplete.length === 0 || hasBegun) return isTrue;
  return { status: "False", reason: "ContainersNotInitialized", message: `containers with incomplete status: [${incomplete.join(" ")}]` };
}

function containersReadyOf({ phase, containers }: ConditionFacts): Finding {
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  const unready = containers.filter(({ ready }) => !ready).map(({ name }) => name);
  if (unready.length === 0) return isTrue;
  return { status: "False", reason: "ContainersNotReady", message: `containers with unready status: [${unready.join(" ")}]` };
}

function readyOf({ pod }: ConditionFacts, containersReady: Finding): Finding {
  if (containersReady.status !== "True") return containersReady;
  const open = (pod.spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const gate = pod.status.conditions?.find(({ type }) => type === conditionType);
    if (gate === undefined) return [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`];
    return gate.status === "True" ? [] : [`the status of pod readiness gate "${conditionType}" is not "True", but ${gate.status}`];
  });
  return open.length === 0 ? isTrue : { status: "False", reason: "ReadinessGatesNotReady", message: open.join(", ") };
}
