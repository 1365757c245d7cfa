/** How many requests want a pool's pods now. The queue of claims knows; the pool controller asks. */
import type { Key } from "#kube/controller/key.ts";
import type { WaitingSet } from "#model/claim-demand.ts";
import type { Source } from "#kube/controller/source.ts";

export interface ClaimPressure {
  /** Claims that are being carried out at this moment. */
  inFlight(pool: Key): number;
  /** Requests that wait for a pod. */
  waiting(pool: Key): number;
  /** The same requests, each counted once, by the pools that could serve them: those sets that contain this pool. */
  setsAt(pool: Key): readonly WaitingSet[];
  /** Tells whenever a request begins to wait. Returns what ends it. */
  onWaiting(handler: (pool: Key) => void): () => void;
}

/** A pool is reconciled as soon as a request waits for it: it may be holding back, and its status must show the waiting request. */
export function waitingRequests(pressure: ClaimPressure | undefined): Source {
  return {
    connect: (add) => ({ whenSynced: async () => {}, remove: pressure?.onWaiting((pool) => add(pool, "first")) ?? (() => {}) }),
  };
}
