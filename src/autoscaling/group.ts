/**
 * The autoscaler of one scaling group: a snapshot in, a plan out. Pure; time comes with the snapshot.
 *
 * - `group.ts`          what goes in and what comes out
 * - `decide-group.ts`   the decision: one for all members of a group, so that siblings cannot break its minima and maxima together (W17)
 * - `grow-by-steps.ts`  growth by the modes Conservative, Default and Aggressive; `shrink-idle.ts` how these shrink
 * - `size-by-demand.ts` both for mode Demand
 * - `sized-members.ts`  shares growth and shrinking out among members, inside their bounds
 * - `schedules.ts`      floors at known times
 * - `arrivals.ts`       what mode Demand remembers of arrivals; `needed-spare.ts` how many spare pods follow from it, `daily-pattern.ts` the
 *   time of the day, `coverage.ts` the arithmetic; `wanted-window.ts` what was wanted lately
 * - `attempts.ts`       what a try to grow leaves in a pool's status; `scale-down-session.ts` events of a scale-down
 * - `allot-waiters.ts`  which pool makes a pod for which waiting request
 */
import type { EnvAutoscalingGroup } from "#model/env-autoscaling.ts";
import type { PoolAutoScalingStatus } from "#model/sandbox-pool.ts";

/** One member of the group as it stands now. */
export interface GroupMember {
  readonly clusterID: string;
  /** Name of its pool. */
  readonly name: string;
  /** False for a member of another cluster: it counts in the sums of the group, and only its own cluster changes it. */
  readonly isLocal: boolean;
  /** Wanted pods as they are set now: the member's spec.replicas. */
  readonly replicas: number;
  readonly minReplicas: number;
  readonly maxReplicas: number | undefined;
  readonly scaleUpPriority: number;
  readonly scaleDownPriority: number;
  /** Idle pods that can be claimed. */
  readonly idle: number;
  /** Idle pods that are not ready yet. */
  readonly coming: number;
  /** Pods with a sandbox: starting, running and paused ones. */
  readonly claimed: number;
  /** Pods whose sandbox has ended and that are being recycled. */
  readonly stopping: number;
  readonly failed: number;
  /** Requests that wait at its pool, also those that a sibling could serve. */
  readonly waiting: number;
  /** For how long its idle pods have been idle, the longest first, in milliseconds; bounded. */
  readonly idleForMs: readonly number[];
  /** The latest create request that it could have served. */
  readonly lastCreateAtMs: number | undefined;
  /** What the autoscaler remembers of it. */
  readonly status: PoolAutoScalingStatus;
  /** More cannot be made of it now, and why: from its limits, its template, or pods that do not start. */
  readonly fullBecause: string | undefined;
  /** Pods that no node takes, where it is known that there is no room for more; 0 when left out. */
  readonly stranded?: number;
}

export interface GroupSnapshot {
  readonly group: EnvAutoscalingGroup;
  readonly members: readonly GroupMember[];
  /** Requests that wait for a pod of any member, each counted once, summed over API processes. */
  readonly waiting: number;
  /** What is known of arrivals; used by mode Demand. */
  readonly arrivals: ArrivalForecast;
  /** The most that mode Demand wanted during the latest `scaleDownPolicy.idleTimeoutSeconds`. */
  readonly recentPeak: number;
  /** Since when this process has watched the group: nothing shrinks before a whole window was seen. */
  readonly watchedSinceMs: number;
  readonly nowMs: number;
}

/** What mode Demand knows of the requests to come. */
export interface ArrivalForecast {
  /** From the decision to make a pod until it can be claimed. Measured. */
  readonly refillMs: number;
  /** Spare pods that cover the arrivals of one refill time with the wanted probability. */
  readonly spare: number;
  /** Arrivals per second that `spare` is based on. */
  readonly perSecond: number;
}

export interface MemberPlan {
  readonly name: string;
  /** Wanted pods from now on. Equal to the present number when nothing changes. */
  readonly replicas: number;
  /** Asked of the plugins before it is applied, when it is more than the present number. */
  readonly grows: boolean;
  /** Since when it has had no idle pod; undefined while it has one. */
  readonly idleZeroSince: string | undefined;
}

export interface GroupEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** Name of the member that it is about. */
  readonly member: string;
}

/** Why a plan is as it is: one word, for metrics. */
export type DecisionReason =
  | "disabled"
  | "steady"
  | "in-use"
  | "waiting"
  | "idle-zero"
  | "demand"
  | "minimum"
  | "schedule"
  | "maximum"
  | "idle"
  | "held"
  | "watching"
  | "cooldown"
  | "saturated";

export interface GroupPlan {
  /** The local ones. */
  readonly members: readonly MemberPlan[];
  /** Pods that the mode would have, before bounds and before anything is held. */
  readonly wanted: number;
  /** Spare pods among them. */
  readonly spare: number;
  /** One sentence that explains the decision, such as "12 wanted: 7 in use, 0 waiting, 5 spare for 3.1/s over 1.2 s". */
  readonly decision: string;
  /** Short word for metrics: why it is as it is. */
  readonly reason: DecisionReason;
  /** Of what was decided; what plugins say to growth is told by `attempts.ts`. */
  readonly events: readonly GroupEvent[];
  /** When to decide again if nothing happens meanwhile. */
  readonly againInMs: number | undefined;
}
