/** The product's own decision, with the bookkeeping that its controller does: mode Demand and the three step modes. */
import { ArrivalForecaster } from "#autoscaling/arrivals.ts";
import { decideGroup } from "#autoscaling/decide-group.ts";
import type { GroupMember } from "#autoscaling/group.ts";
import { WantedWindow } from "#autoscaling/wanted-window.ts";
import type { EnvAutoscalingGroup, PoolScaleUpMode } from "#model/env-autoscaling.ts";
import type { PoolAutoScalingStatus } from "#model/sandbox-pool.ts";
import { type Load, type PoolSight, type SizingPolicy, tickMs } from "./simulate.ts";

/** Simulated time begins at a real date: bookkeeping writes dates. */
const epochMs = Date.parse("2026-01-01T00:00:00Z");
const lookEveryMs = 10_000;

export interface DemandKnobs {
  readonly coveragePercent: number;
  readonly emptyAfterSeconds: number;
  readonly idleSeconds: number;
}

export function demand(load: Load, { coveragePercent, emptyAfterSeconds, idleSeconds }: DemandKnobs): SizingPolicy {
  const forecaster = new ArrivalForecaster(epochMs);
  const decide = decider("Demand", { idleTimeoutSeconds: idleSeconds, stabilizationSeconds: Math.min(60, idleSeconds) });
  return {
    lookEveryMs,
    arrived: (now) => forecaster.arrived(epochMs + now),
    wanted: (sight) => {
      const nowMs = epochMs + sight.nowMs;
      // The controller, too, adds the pace of its decisions to the refill time.
      const arrivals = forecaster.forecast({
        nowMs,
        refillMs: load.refillMs + tickMs,
        coveragePercent,
        emptyAfterMs: emptyAfterSeconds * 1000,
      });
      return decide(sight, { arrivals, idleForMs: [], lastCreateAtMs: forecaster.lastAtMs });
    },
  };
}

/** The quickest that the specification allows, or its defaults. */
export function stepMode(mode: Exclude<PoolScaleUpMode, "Demand">, idleSeconds: number): SizingPolicy {
  const decide = decider(mode, { idleTimeoutSeconds: idleSeconds, stabilizationSeconds: Math.min(60, idleSeconds) });
  const idleSince: number[] = [];
  let lastCreate = 0;
  return {
    lookEveryMs,
    arrived: (now) => (lastCreate = now),
    wanted: (sight) => {
      // The latest idle are claimed first.
      while (idleSince.length > sight.idle) idleSince.pop();
      while (idleSince.length < sight.idle) idleSince.push(sight.nowMs);
      const idleForMs = idleSince.slice(0, 100).map((since) => sight.nowMs - since);
      return decide(sight, { arrivals: { refillMs: 0, spare: 0, perSecond: 0 }, idleForMs, lastCreateAtMs: epochMs + lastCreate });
    },
  };
}

type Known = Pick<GroupMember, "idleForMs" | "lastCreateAtMs"> & Pick<Parameters<typeof decideGroup>[0], "arrivals">;

function decider(
  mode: PoolScaleUpMode,
  scaleDownPolicy: NonNullable<EnvAutoscalingGroup["scaleDownPolicy"]>,
): (sight: PoolSight, known: Known) => number {
  const group: EnvAutoscalingGroup = { name: "g", enabled: true, maxReplicas: 5_000, scaleUpPolicy: { mode }, scaleDownPolicy };
  const windowMs = (scaleDownPolicy.idleTimeoutSeconds ?? 0) * 1000;
  const window = new WantedWindow();
  let replicas = 0;
  let status: PoolAutoScalingStatus = {};
  return (sight, { arrivals, ...known }) => {
    const nowMs = epochMs + sight.nowMs;
    const member = { ...bareMember, ...known, ...pick(sight), replicas, status };
    const recentPeak = window.largest(windowMs, nowMs);
    const plan = decideGroup({ group, members: [member], waiting: sight.waiting, arrivals, recentPeak, watchedSinceMs: epochMs, nowMs });
    window.note(plan.wanted, nowMs);
    const [planned] = plan.members;
    const next = planned?.replicas ?? 0;
    const time = new Date(nowMs).toISOString();
    const { idleZeroSince: _, ...others } = status;
    status = {
      ...others,
      ...(planned?.idleZeroSince !== undefined && { idleZeroSince: planned.idleZeroSince }),
      ...(next > replicas && { lastScaleUpTime: time }),
      ...(next < replicas && { lastScaleDownTime: time }),
    };
    return (replicas = next);
  };
}

function pick({ idle, coming, claimed, waiting }: PoolSight): Pick<GroupMember, "idle" | "coming" | "claimed" | "waiting"> {
  return { idle, coming, claimed, waiting };
}

const bareMember = {
  clusterID: "c",
  name: "m",
  isLocal: true,
  minReplicas: 0,
  maxReplicas: undefined,
  scaleUpPriority: 0,
  scaleDownPriority: 0,
  stopping: 0,
  failed: 0,
  fullBecause: undefined,
};
