import type { Random } from "#lib/backoff.ts";
import type { Resting } from "#life/recycle/resting.ts";
import type { ClaimQueue } from "#scheduling/claim-queue.ts";
import type { BackgroundWork } from "./background-work.ts";
import type { BootIds } from "#life/arm/boot-ids.ts";
import type { SandboxClaimsDeps } from "./claim-deps.ts";
import type { ClaimMetrics } from "./claim-metrics.ts";
import type { StartOrders } from "./start-order.ts";
import type { SandboxTokens } from "./sandbox-tokens.ts";
import type { HookSeal } from "#services/hooks/sealed-hooks.ts";

/** What the steps of a create share: what they were given, and what one process keeps for all of them. */
export interface ClaimContext extends SandboxClaimsDeps {
  readonly random: Random;
  readonly keysNamespace: string;
  /** An idempotency key is remembered from now on. */
  readonly onKeyNoted: () => void;
  readonly queue: ClaimQueue;
  readonly bootIds: BootIds;
  readonly tokens: SandboxTokens;
  readonly hookSeal: HookSeal;
  readonly startOrders: StartOrders;
  readonly resting: Resting;
  readonly meters: ClaimMetrics;
  readonly background: BackgroundWork;
  /** Sandboxes that this process makes now, up to their last hook. */
  readonly creating: Set<string>;
  /** Aborted when no create may go on. */
  readonly stopped: AbortSignal;
  /** Aborted when work on claimed sandboxes is also left to other processes. */
  readonly abandoned: AbortSignal;
}
