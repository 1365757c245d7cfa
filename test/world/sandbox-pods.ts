/** Pods as pools make them and claims change them, for tests to vary. */
import { annotationKeys, labelKeys, podConditions, type SandboxPhase } from "#model/keys.ts";
import type { Pod, PodCondition, PodStatus } from "#model/pod.ts";

export interface SandboxPodShape {
  readonly namespace?: string;
  readonly pool?: string;
  readonly phase?: SandboxPhase;
  readonly id?: string;
  readonly user?: string;
  readonly ready?: boolean;
  /** Time of the wish to pause. */
  readonly pauseWish?: string;
  readonly paused?: Partial<PodCondition>;
  readonly swap?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly metadata?: Partial<Pod["metadata"]>;
  readonly status?: Partial<PodStatus>;
}

/** An idle, ready pod of pool `py` unless told otherwise. */
export function aSandboxPod(name: string, shape: SandboxPodShape = {}): Pod {
  const { namespace = "ns", ready = true } = shape;
  const conditions: PodCondition[] = [{ type: "Ready", status: ready ? "True" : "False" }];
  if (shape.paused !== undefined) conditions.push({ type: podConditions.paused, status: "True", ...shape.paused });
  return {
    metadata: { namespace, name, uid: `uid-${name}`, labels: labelsOf(shape), annotations: annotationsOf(shape), ...shape.metadata },
    spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }] },
    status: { phase: "Running", podIP: "10.0.0.7", conditions, ...shape.status },
  };
}

function labelsOf({ pool = "py", phase = "idle", id, user }: SandboxPodShape): Record<string, string> {
  return {
    [labelKeys.sandboxPool]: pool,
    [labelKeys.sandboxPhase]: phase,
    ...(id === undefined ? {} : { [labelKeys.sandboxId]: id }),
    ...(user === undefined ? {} : { [labelKeys.user]: user }),
  };
}

function annotationsOf({ pauseWish, swap, annotations }: SandboxPodShape): Record<string, string> {
  return {
    ...(pauseWish === undefined ? {} : { [annotationKeys.paused]: pauseWish }),
    ...(swap === undefined ? {} : { [annotationKeys.inplaceUpdateState]: swap }),
    ...annotations,
  };
}
