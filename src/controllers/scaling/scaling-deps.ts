import type { ControllerDeps } from "#kube/controller/controller.ts";
import type { EventRecorder } from "#kube/events/event-recorder.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { ClaimPressure } from "#life/claim/claim-pressure.ts";
import type { PoolRefusals } from "#controllers/pool/status/pool-refusals.ts";
import type { PluginChain } from "#plugins/plugin.ts";
import type { GroupMemories } from "./group-memory.ts";
import type { ScalingNumbers } from "./scaling-numbers.ts";

/** What the autoscaler is given. */
export interface ScalingDeps extends ControllerDeps {
  readonly client: ObjectClient;
  readonly cache: Pick<SandboxCache, "envs" | "pools" | "poolsOfEnv" | "pods" | "listPodsInPool">;
  readonly events: Pick<EventRecorder, "record">;
  /** Id of our cluster in Envs. */
  readonly clusterID: string;
  /** Nothing waits when left out. */
  readonly pressure?: ClaimPressure | undefined;
  /** Asked before a member grows; all is admitted when left out. */
  readonly plugins?: Pick<PluginChain, "probe"> | undefined;
  /** What they refused to pools that made pods for waiting requests. */
  readonly refusals?: PoolRefusals | undefined;
  readonly pace?: Partial<ScalingPace> | undefined;
}

export interface ScalingPace {
  /** Least time between two decisions about one Env, whatever happens to its pods. Pods for waiting requests do not wait for it. */
  readonly decideEveryMs: number;
  /** How often an Env is looked at when nothing happens. */
  readonly lookEveryMs: number;
  /** Least time between two writes of a decision's text that changed nothing else. */
  readonly tellEveryMs: number;
  /** Least time between two writes of a pool's annotation last-sandbox-create-time. */
  readonly createTimeEveryMs: number;
  /** Refill time that is assumed before one was measured. */
  readonly unknownRefillMs: number;
}

export const defaultScalingPace: ScalingPace = {
  decideEveryMs: 500,
  lookEveryMs: 10_000,
  tellEveryMs: 10_000,
  createTimeEveryMs: 5_000,
  unknownRefillMs: 2_000,
};

export interface ScalingTools extends ScalingDeps {
  readonly pace: ScalingPace;
  readonly memories: GroupMemories;
  readonly numbers: ScalingNumbers;
}
