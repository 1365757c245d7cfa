/** Why a pod must not run any more, and the next steps of its end. */
import type { NodePod } from "../node-pod.ts";
import type { Moves, Scene } from "./move.ts";
import type { Observed } from "./observed.ts";
import { stopMove } from "./stop-container.ts";
import { unsupported } from "./unsupported.ts";

export interface Ending {
  readonly deleted: boolean;
  readonly graceMs: number;
  readonly notAfter?: number;
  /** Set when the node itself ends the pod. */
  readonly verdict?: { readonly reason: string; readonly message: string };
}

/** Undefined while the pod is to run. */
export function endingOf(pod: NodePod, observed: Observed, now: number): Ending | undefined {
  const { metadata, spec, status } = pod;
  const graceMs = spec.terminationGracePeriodSeconds * 1000;
  if (metadata.deletionTimestamp !== undefined) {
    const granted = (metadata.deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds) * 1000;
    // The time of deletion is written in whole seconds, cut off: up to a second of the grace period is not in it.
    return { deleted: true, graceMs: granted, notAfter: Date.parse(metadata.deletionTimestamp) + (granted === 0 ? 0 : 999) };
  }
  if (isOver(pod)) return { deleted: false, graceMs };
  const deadline = activeDeadline(pod);
  if (deadline !== undefined && now >= deadline) {
    const message = "Pod was active on the node longer than the specified deadline";
    return { deleted: false, graceMs, verdict: { reason: "DeadlineExceeded", message } };
  }
  const lacking = observed.runtime === undefined && status.startTime === undefined ? unsupported(pod) : [];
  if (lacking.length === 0) return undefined;
  return { deleted: false, graceMs, verdict: { reason: "Unsupported", message: `this node cannot run the pod: ${lacking.join("; ")}` } };
}

/** Succeeded and Failed are for ever. */
export function isOver({ status }: NodePod): boolean {
  return status.phase === "Succeeded" || status.phase === "Failed";
}

export function activeDeadline({ spec, status }: NodePod): number | undefined {
  if (spec.activeDeadlineSeconds === undefined || status.startTime === undefined) return undefined;
  return Date.parse(status.startTime) + spec.activeDeadlineSeconds * 1000;
}

export function endMoves(scene: Scene, { graceMs, notAfter }: Ending): Moves {
  return new Map(
    scene.views.flatMap((view) => {
      const { situation, spec } = view;
      if (situation.kind !== "running") return [];
      const stop = { graceMs, ...(notAfter === undefined ? {} : { notAfter }), why: `Stopping container ${spec.name}` };
      return [[view, stopMove(scene, spec, situation.container, stop)] as const];
    }),
  );
}
