import type { NodePod } from "../node-pod.ts";
import type { Action } from "./action.ts";
import type { ContainerView } from "./container-view.ts";
import type { Observed } from "./observed.ts";

/** What all decisions about a pod look at. */
export interface Scene {
  readonly pod: NodePod;
  readonly observed: Observed;
  readonly views: readonly ContainerView[];
  readonly now: number;
}

/** The next step of one container. */
export interface Move {
  readonly actions: readonly Action[];
  /** What a container that is to be started waits for. */
  readonly waiting?: Waiting;
  readonly recheckAt?: number;
}

export interface Waiting {
  readonly reason: string;
  readonly message?: string;
}

export type Moves = ReadonlyMap<ContainerView, Move>;

export function isNothing({ actions, waiting, recheckAt }: Move): boolean {
  return actions.length === 0 && waiting === undefined && recheckAt === undefined;
}

/** What a container waits for as long as nothing more is known. */
export function notYet({ spec }: NodePod): Waiting {
  return { reason: (spec.initContainers ?? []).length > 0 ? "PodInitializing" : "ContainerCreating" };
}
