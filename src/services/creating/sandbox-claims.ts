/**
 * Creating and ending sandboxes: the part of SandboxService that is on the hot path, and what it says of itself to others.
 */
import type { WaitingSet } from "#model/claim-demand.ts";
import type { PoolRef } from "#scheduling/pool-ref.ts";
import type { Caller } from "#services/caller.ts";
import type { CreatedSandbox, SandboxService } from "#services/sandbox-service.ts";
import type { ResumeOrder } from "./resume-on-pod.ts";

export interface SandboxClaims extends Pick<SandboxService, "create" | "createMany" | "end"> {
  /** Brings a sandbox back under its id. Throws ServiceError; then the pod that it may have got goes back. */
  resumeOnPod(owner: Caller, order: ResumeOrder): Promise<CreatedSandbox>;
  /** How many requests wait that the pool could serve: exact, all of them (W11). */
  pending(pool: PoolRef): number;
  /** Requests that wait for a pod of any of several pools, each counted once: those at this pool, or all. */
  waitingSets(pool?: PoolRef): readonly WaitingSet[];
  /** How many pods of the pool are being claimed at this moment. */
  inFlight(pool: PoolRef): number;
  /** Tells of every pool at which a request begins to wait. Returns what ends it. */
  onWaiting(handler: (pool: PoolRef) => void): () => void;
  /** The daemon's token of a sandbox, made from its id: the same at any time, in any process with the same key. */
  accessTokenOf(sandboxId: string): string;
  /** Refuses what comes and ends what waits; resolves when nothing is under way any more. */
  stop(): Promise<void>;
}
