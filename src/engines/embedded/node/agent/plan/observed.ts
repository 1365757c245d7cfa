/** All that a plan is made from, beside the pod itself. */
import type { ResolvedImage } from "#images/resolved-image.ts";
import type { LostEnd } from "../../node-life.ts";
import type { PodState } from "../../pod-runtime.ts";
import type { BackoffEntry } from "./restart-backoff.ts";

export interface Observed {
  readonly node: NodeFacts;
  /** What is on the machine of this pod; undefined when nothing is. */
  readonly runtime: PodState | undefined;
  readonly memory: PodMemoryView;
}

export interface NodeFacts {
  readonly name: string;
  /** The machine's address, as pods are told. */
  readonly hostIP: string;
  /** What ended the containers that were running before this agent and are gone. */
  readonly lost?: LostEnd | undefined;
}

/**
 * What only this process knows of a pod. A new agent starts with nothing of it: everything here may be forgotten at the
 * price of doing something again that may be done again (a signal, a hook, a pull) or of waiting less long.
 */
export interface PodMemoryView {
  /** By container name: the image for the container that is to be started next. */
  readonly pulls: ReadonlyMap<string, PullState>;
  /** By container name: why it could not be made last time. */
  readonly createFailures: ReadonlyMap<string, CreateFailure>;
  /** By container id: made, but its process could not be started. */
  readonly startFailures: ReadonlyMap<string, StartFailure>;
  /** By container id: how far its stop has come. */
  readonly stops: ReadonlyMap<string, StopProgress>;
  /** By container id. A container that is not in it was adopted: its hook ran in another life. */
  readonly postStarts: ReadonlyMap<string, "running" | "done" | "failed">;
  /** By container id. */
  readonly probes: ReadonlyMap<string, ProbeResults>;
  /** By container id: what it said last, if its status is to tell. */
  readonly lastWords: ReadonlyMap<string, string>;
  /** By container hash. */
  readonly backoffs: ReadonlyMap<string, BackoffEntry>;
  /** Why the pod has no slot. */
  readonly slotFailure: Retry | undefined;
  /** The wish to pause, or to rest, that could not be granted. */
  readonly freezeFailed: FreezeFailed | undefined;
  /** The wish for volumes that could not be granted. */
  readonly mountFailed: FreezeFailed | undefined;
}

export interface FreezeFailed {
  readonly wish: string;
  readonly message: string;
}

export interface Retry {
  readonly message: string;
  readonly failures: number;
  readonly retryAt: number;
}

export type PullState = { readonly id: string } & (
  | { readonly kind: "pulling" }
  | { readonly kind: "ready"; readonly image: ResolvedImage }
  | ({ readonly kind: "failed"; readonly reason: PullFailureReason; readonly failedAt: number } & Retry)
);

export type PullFailureReason = "ErrImagePull" | "ErrImageNeverPull" | "InvalidImageName";

export interface CreateFailure extends Retry {
  /** The container that was tried; another attempt or image is not held up by it. */
  readonly id: string;
  /** A volume that cannot be filled leaves the container "creating", as everywhere. */
  readonly reason: "CreateContainerConfigError" | "CreateContainerError" | "ContainerCreating";
}

export interface StartFailure {
  readonly message: string;
  readonly at: number;
}

export interface StopProgress {
  readonly beganAt: number;
  readonly graceMs: number;
  /** Absent when there is no hook or no time for it. */
  readonly preStop?: "due" | "running" | "done";
  readonly signalledAt?: number;
  readonly killedAt?: number;
}

export type ProbeKind = "startup" | "liveness" | "readiness";
export type ProbeVerdict = "success" | "failure";
export type ProbeResults = { readonly [kind in ProbeKind]?: ProbeVerdict };
