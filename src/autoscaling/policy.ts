/** A group's policies with the defaults that the schema would have written: an Env that was made before them still has a policy. */
import {
  demandDefaults,
  type EnvAutoscalingGroup,
  scaleDownDefaults,
  scaleUpDefaults,
  type PoolScaleUpMode,
} from "#model/env-autoscaling.ts";
import type { GroupMember } from "./group.ts";
import { parseTime } from "#sandbox/annotation-values.ts";

export interface Policy {
  readonly mode: PoolScaleUpMode;
  readonly cooldownMs: number;
  readonly idleThresholdMs: number;
  readonly quietWindowMs: number;
  readonly saturationMs: number;
  readonly idleTimeoutMs: number;
  readonly stabilizationMs: number;
  readonly coveragePercent: number;
  readonly emptyAfterMs: number;
}

export function policyOf({ scaleUpPolicy = {}, scaleDownPolicy = {}, demand = {} }: EnvAutoscalingGroup): Policy {
  const up = { ...scaleUpDefaults, ...scaleUpPolicy };
  const down = { ...scaleDownDefaults, ...scaleDownPolicy };
  const { coveragePercent, emptyAfterSeconds } = { ...demandDefaults, ...demand };
  return {
    mode: up.mode,
    cooldownMs: up.cooldownSeconds * 1000,
    idleThresholdMs: up.idleThresholdSeconds * 1000,
    quietWindowMs: up.idleZeroQuietWindowSeconds * 1000,
    saturationMs: up.saturationCooldownSeconds * 1000,
    idleTimeoutMs: down.idleTimeoutSeconds * 1000,
    stabilizationMs: down.stabilizationSeconds * 1000,
    coveragePercent,
    emptyAfterMs: emptyAfterSeconds * 1000,
  };
}

/** For how long the member still counts as full after a try that did not give all that was asked; 0 when it does not. */
export function saturatedForMs({ status }: GroupMember, { saturationMs }: Policy, nowMs: number): number {
  const { lastScaleUpAttemptResult: result, lastScaleUpAttemptTime } = status;
  if (result === undefined || result === "Enough") return 0;
  return leftOf(lastScaleUpAttemptTime, saturationMs, nowMs);
}

/** How much of `ms` after `time` is left. A time from a clock that is ahead of ours counts as now. */
export function leftOf(time: string | undefined, ms: number, nowMs: number): number {
  const atMs = parseTime(time);
  return atMs === undefined ? 0 : Math.max(0, Math.min(atMs, nowMs) + ms - nowMs);
}
