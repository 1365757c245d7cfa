import type { EngineAbilities } from "#engine-port/abilities.ts";
import type { Expectations } from "#kube/controller/expectations.ts";
import type { Key } from "#kube/controller/key.ts";
import type { EventRecorder } from "#kube/events/event-recorder.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { Backoff } from "#lib/backoff.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { ImageDigests } from "#pools/pool-images.ts";
import { scaleDownDefaults } from "#model/env-autoscaling.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { PluginChain } from "#plugins/plugin.ts";
import type { DaemonSettings } from "#sandbox/pods/daemon-delivery.ts";
import type { ClaimPressure } from "#life/claim/claim-pressure.ts";
import type { RefillPace } from "./size/plan-refill.ts";
import type { PoolLedger } from "./size/pool-ledger.ts";
import type { PodsUnderWay } from "./size/pods-under-way.ts";
import type { PoolMemories } from "./size/pool-memory.ts";
import type { PoolSums } from "./size/pool-sums.ts";
import type { PoolNumbers } from "./status/pool-numbers.ts";
import type { PoolRefusals } from "./status/pool-refusals.ts";
import type { UnreadySince } from "./roll-out/unready-since.ts";

/** What the keeping of pools is given. */
export interface PoolDeps extends DaemonSettings {
  readonly client: ObjectClient;
  readonly cache: Pick<SandboxCache, "pods" | "pools" | "envs" | "poolsOfEnv" | "templates" | "claims" | "limits" | "limitTable">;
  readonly expectations: Expectations;
  readonly digests: ImageDigests;
  readonly clock: MonotonicClock;
  readonly log: Logger;
  /** For the names of new pods and for waiting times, and nothing that must not be guessed. */
  readonly random: () => number;
  readonly abilities: Pick<EngineAbilities, "userNamespaces">;
  /** How many pods are created, marked or deleted at once. */
  readonly creationsAtOnce: number;
  /** Left out: no claims and no waiting requests. */
  readonly pressure?: ClaimPressure | undefined;
  /** Asked before pods are made; all are admitted as they are when left out. */
  readonly plugins?: Pick<PluginChain, "probe" | "preCreatePod"> | undefined;
  /** What they refused; shared with the autoscaler. One of its own when left out. */
  readonly refusals?: PoolRefusals | undefined;
  /** Id of our cluster in Envs; left out: only the pool's name counts. */
  readonly clusterID?: string | undefined;
  /** How long a pod that was chosen for scale-down may still be claimed; what its Env's group says when left out. */
  readonly protectionWindowMs?: ((pool: SandboxPool) => number) | undefined;
  readonly events?: PoolEvents | undefined;
  readonly pace?: Partial<PoolPace> | undefined;
}

export type PoolEvents = Pick<EventRecorder, "record" | "forget">;

export interface PoolPace extends RefillPace {
  /** Least time between two writes of one pool's status, whatever happens to its pods. */
  readonly statusEveryMs: number;
  /** How often waiting requests are counted anew while there are any, and least time between two writes for their number alone. */
  readonly pendingEveryMs: number;
  /** How many pods are on their way out at a time. */
  readonly removalsAtOnce: number;
  /** Share of the idle pods that a rollout may make unavailable; one always may be. */
  readonly maxUnavailable: number;
  /** A pod that is not ready after so long is given up. */
  readonly unreadyMs: number;
  /** Between losses of pods that were never ready. */
  readonly loss: Backoff;
  /** Between tries to make pods that cannot be made. */
  readonly retry: Backoff;
}

export const defaultPoolPace: PoolPace = {
  yieldMs: 100,
  creationsBesideClaims: 4,
  maxCreations: 500,
  stockYieldMs: 5_000,
  statusEveryMs: 1_000,
  pendingEveryMs: 3_000,
  removalsAtOnce: 100,
  maxUnavailable: 0.2,
  unreadyMs: 10 * 60_000,
  loss: { baseMs: 5_000, maxMs: 10 * 60_000, jitter: "equal" },
  retry: { baseMs: 1_000, maxMs: 5 * 60_000, jitter: "equal" },
};

/** What the behaviours of a pool work with. */
export interface PoolTools extends PoolDeps {
  readonly protectionWindowMs: (pool: SandboxPool) => number;
  readonly refusals: PoolRefusals;
  readonly events: PoolEvents;
  readonly pace: PoolPace;
  readonly ledger: PoolLedger;
  readonly sums: PoolSums;
  readonly unready: UnreadySince;
  readonly memories: PoolMemories;
  readonly underWay: PodsUnderWay;
  readonly numbers: PoolNumbers;
}

export const defaultProtectionWindowMs = scaleDownDefaults.protectionWindowSeconds * 1000;

export function keyOf({ metadata: { namespace, name = "" } }: SandboxPool): Key {
  return { namespace, name };
}
