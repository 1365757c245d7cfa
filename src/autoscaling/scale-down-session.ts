/** Tells how a scale-down goes: begun, done, or stuck, the last at most every five minutes. */
import type { GroupEvent } from "./group.ts";

export interface ScaleDownSession {
  readonly startedMs: number;
  readonly target: number;
  readonly toldStuckMs: number | undefined;
}

export interface ScaleDownSight {
  readonly member: string;
  readonly replicas: number;
  /** Pods that there are. */
  readonly pods: number;
  readonly nowMs: number;
}

export interface ScaleDownNews {
  readonly session: ScaleDownSession | undefined;
  readonly event: GroupEvent | undefined;
}

const stuckAfterMs = 5 * 60_000;
/** Afterwards nothing more is told of it. */
const sessionMs = 10 * 60_000;

export function followScaleDown(session: ScaleDownSession, { member, replicas, pods, nowMs }: ScaleDownSight): ScaleDownNews {
  // It grows again: the scale-down is over, and what follows is told as growth.
  if (replicas > session.target) return { session: undefined, event: undefined };
  if (pods <= replicas) {
    const message = `${pods} pods are left, as wanted`;
    return { session: undefined, event: { type: "Normal", reason: "AutoscalerScaleDownCompleted", message, member } };
  }
  const next = { ...session, target: replicas };
  if (nowMs - session.startedMs > sessionMs) return { session: undefined, event: undefined };
  if (nowMs - (session.toldStuckMs ?? session.startedMs) < stuckAfterMs) return { session: next, event: undefined };
  const message = `${pods} pods are left and ${replicas} are wanted: the others are in use or cannot be deleted`;
  return { session: { ...next, toldStuckMs: nowMs }, event: { type: "Warning", reason: "AutoscalerScaleDownStuck", message, member } };
}
