/**
 * Pods as the control plane shows them, whether claims are written to the pods or to Leases beside them (engines/kubernetes/claims/claim-lease.ts): a claim
 * appears as a change of its pod in both cases.
 */
import { podWithClaim } from "#engines/kubernetes/claims/claim-lease.ts";
import type { Lease } from "#model/core-kinds.ts";
import { labelKeys } from "#model/keys.ts";
import type { ApiObject } from "#model/meta.ts";
import type { Pod } from "#model/pod.ts";
import type { ChangeEvent } from "./follow.ts";

/** A change of a pod, or of its claim. */
export interface SeenPod {
  readonly pod: Pod;
  readonly isGone: boolean;
}

export class PodsWithClaims {
  readonly #tell: (change: SeenPod) => void;
  /** By name: all are in one namespace. */
  readonly #pods = new Map<string, Pod>();
  readonly #leases = new Map<string, Lease>();
  #newest = 0;

  constructor(tell: (change: SeenPod) => void) {
    this.#tell = tell;
  }

  seePod(event: ChangeEvent<Pod>): void {
    this.#inOrder(event.object);
    const isGone = event.type === "DELETED";
    keep(this.#pods, event.object, isGone);
    this.#tell({ pod: this.#shown(event.object), isGone });
  }

  /** Nothing is told of one that says nothing, of whichever pod. */
  seeLease(event: ChangeEvent<Lease>): void {
    this.#inOrder(event.object);
    const pod = this.#pods.get(nameOf(event.object));
    const before = pod && this.#shown(pod);
    keep(this.#leases, event.object, event.type === "DELETED");
    const now = pod && this.#shown(pod);
    if (now !== undefined && (now !== pod || before !== pod)) this.#tell({ pod: now, isGone: false });
  }

  #shown(pod: Pod): Pod {
    return podWithClaim(pod, this.#leases.get(nameOf(pod)));
  }

  /** A claim that arrived after its pod was deleted would otherwise go unnoticed. */
  #inOrder({ metadata: { resourceVersion } }: ApiObject): void {
    const version = Number(resourceVersion);
    if (version < this.#newest) throw new Error(`the world sees version ${version} after ${this.#newest}`);
    this.#newest = version;
  }
}

/** Leases of pods have their label; Leases of elections do not. */
export function isOfPod(lease: Lease): boolean {
  return lease.metadata.labels?.[labelKeys.sandboxPool] !== undefined;
}

function keep<T extends ApiObject>(all: Map<string, T>, object: T, isGone: boolean): void {
  if (isGone) all.delete(nameOf(object));
  else all.set(nameOf(object), object);
}

function nameOf({ metadata }: ApiObject): string {
  return metadata.name ?? "";
}
