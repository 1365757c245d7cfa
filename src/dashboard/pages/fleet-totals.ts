/** Totals over all known objects. Pure. */
import type { Known } from "../live/apply-changes.ts";

export interface FleetTotals {
  readonly pools: number;
  readonly wanted: number;
  readonly idle: number;
  readonly inUse: number;
  readonly paused: number;
  readonly waiting: number;
}

export function fleetTotals({ sandboxes, pools }: Known): FleetTotals {
  let [wanted, idle, waiting, paused] = [0, 0, 0, 0];
  for (const { spec, status } of pools.values()) {
    wanted += spec.replicas;
    idle += status?.idleReplicas ?? 0;
    waiting += status?.pendingRequests ?? 0;
  }
  for (const { status } of sandboxes.values()) if (status === "Paused") paused += 1;
  return { pools: pools.size, wanted, idle, inUse: sandboxes.size, paused, waiting };
}
