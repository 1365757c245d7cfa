/** How hard a pool's pods are wanted right now. Whoever hands them out knows; the pool controller asks. */
import type { Key } from "#kube/controller/key.ts";

export interface ClaimPressure {
  /** Claims that are being carried out at this moment. */
  inFlight(pool: Key): number;
  /** Requests that wait for a pod. */
  waiting(pool: Key): number;
}
