/**
 * Creating and ending sandboxes: the part of SandboxService that is on the hot path, and what it says of itself to others.
 */
import type { PoolRef } from "#scheduling/pool-ref.ts";
import type { SandboxService } from "./sandbox-service.ts";

export interface SandboxClaims extends Pick<SandboxService, "create" | "createMany" | "end"> {
  /** How many requests wait that the pool could serve: exact, all of them (W11). */
  pending(pool: PoolRef): number;
  /** How many pods of the pool are being claimed at this moment. */
  inFlight(pool: PoolRef): number;
  /** How many requests there have been. */
  asked(): number;
  /** Tells of every pool at which a request begins to wait. Returns what ends it. */
  onWaiting(handler: (pool: PoolRef) => void): () => void;
  /** The daemon's token of a sandbox, made from its id: the same at any time, in any process with the same key. */
  accessTokenOf(sandboxId: string): string;
  /** Refuses what comes and ends what waits; resolves when nothing is under way any more. */
  stop(): Promise<void>;
}
