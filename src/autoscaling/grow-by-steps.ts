/** Growth of the stock by the modes Conservative, Default and Aggressive: triggers, gates and sizes. */
import type { PoolScaleUpMode } from "#model/env-autoscaling.ts";
import { parseTime } from "#sandbox/annotation-values.ts";
import type { DecisionReason, GroupMember, GroupSnapshot } from "./group.ts";
import { leftOf, type Policy, saturatedForMs } from "./policy.ts";
import { byScaleUp, roomOf, type Sized } from "./sized-members.ts";

export interface StepGrowth {
  readonly sized: readonly Sized[];
  /** What made it grow, or what keeps it from growing although something asks for it. */
  readonly reason: DecisionReason | undefined;
  readonly why: string;
}

/** `room`: how many more pods the group may have. */
export function growBySteps(snapshot: GroupSnapshot, sized: readonly Sized[], policy: Policy, room: number): StepGrowth {
  let left = room;
  let growth: Omit<StepGrowth, "sized"> = { reason: undefined, why: "" };
  const targets = new Map<GroupMember, number>();
  for (const { member, replicas } of [...sized].sort((one, other) => byScaleUp(one.member, other.member))) {
    const trigger = triggerOf(snapshot, member, policy);
    if (trigger === undefined || yields(snapshot, member, policy)) continue;
    const gate = gateOf(member, policy, snapshot.nowMs);
    const step = Math.min(stepOf(policy.mode, replicas), roomOf(member, replicas), left);
    if (gate !== undefined || step === 0) {
      growth = growth.reason === undefined ? (gate ?? { reason: "maximum", why: `${member.name} may not grow: maximum reached` }) : growth;
      continue;
    }
    targets.set(member, replicas + step);
    left -= step;
    growth = { reason: trigger, why: `${member.name} grows by ${step} (${policy.mode}), ${triggerWords[trigger]}` };
  }
  return { ...growth, sized: sized.map(({ member, replicas }) => ({ member, replicas: targets.get(member) ?? replicas })) };
}

type Trigger = "waiting" | "idle-zero";

const triggerWords: Readonly<Record<Trigger, string>> = {
  waiting: "because requests wait and no pod is idle",
  "idle-zero": "because it has had no idle pod for a while",
};

/** Reactive: requests wait and no pod is idle. Proactive: no pod has been idle for a while, and requests came lately. */
function triggerOf({ nowMs }: GroupSnapshot, member: GroupMember, policy: Policy): Trigger | undefined {
  if (!member.isLocal || member.idle > 0) return undefined;
  if (member.waiting > 0) return "waiting";
  if (!isStarving(member, policy, nowMs)) return undefined;
  const { lastCreateAtMs = -Infinity } = member;
  const isQuiet = policy.quietWindowMs > 0 && nowMs - lastCreateAtMs > policy.quietWindowMs;
  return isQuiet ? undefined : "idle-zero";
}

/** No idle pod for as long as the threshold says; 0 switches the proactive trigger off. */
function isStarving({ idle, status }: GroupMember, { idleThresholdMs }: Policy, nowMs: number): boolean {
  const sinceMs = parseTime(status.idleZeroSince);
  return idle === 0 && idleThresholdMs > 0 && sinceMs !== undefined && nowMs - sinceMs >= idleThresholdMs;
}

/** A sibling that is preferred, lacks pods just as long and can still grow goes first. */
function yields({ members, nowMs }: GroupSnapshot, member: GroupMember, policy: Policy): boolean {
  return members.some(
    (other) =>
      other.isLocal &&
      other.scaleUpPriority < member.scaleUpPriority &&
      isStarving(other, policy, nowMs) &&
      roomOf(other, other.replicas) > 0 &&
      other.fullBecause === undefined &&
      saturatedForMs(other, policy, nowMs) === 0,
  );
}

function gateOf(member: GroupMember, policy: Policy, nowMs: number): Omit<StepGrowth, "sized"> | undefined {
  const fullMs = saturatedForMs(member, policy, nowMs);
  if (member.fullBecause !== undefined) return { reason: "saturated", why: `${member.name} is full: ${member.fullBecause}` };
  if (fullMs > 0) return { reason: "saturated", why: `${member.name} counts as full for ${seconds(fullMs)} more` };
  const coolMs = leftOf(member.status.lastScaleUpTime, policy.cooldownMs, nowMs);
  return coolMs > 0 ? { reason: "cooldown", why: `${member.name} grew lately and waits for ${seconds(coolMs)} more` } : undefined;
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`;
}

/** Never more than as many again as there are. */
export function stepOf(mode: PoolScaleUpMode, replicas: number): number {
  const most = Math.max(replicas, 1);
  switch (mode) {
    case "Conservative":
      return 1;
    case "Default":
      return Math.min(most, Math.max(1, Math.ceil(replicas / 2)));
    case "Aggressive":
      return most;
    case "Demand":
      return 0;
  }
}
