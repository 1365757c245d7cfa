/** How the stock of the step modes shrinks: pods that have been idle for long, half of them at a time. */
import type { DecisionReason, GroupSnapshot } from "./group.ts";
import { leftOf, type Policy } from "./policy.ts";
import { floorOf, shrunk, type Sized, totalOf } from "./sized-members.ts";

export interface Shrinking {
  readonly sized: readonly Sized[];
  readonly reason: DecisionReason | undefined;
  readonly why: string;
  readonly againInMs: number | undefined;
}

/** `least`: fewest pods of the group. */
export function shrinkIdle(snapshot: GroupSnapshot, sized: readonly Sized[], policy: Policy, least: number): Shrinking {
  const unchanged = { sized, reason: undefined, why: "", againInMs: undefined };
  const late = (members: readonly number[]): number => members.filter((ms) => ms >= policy.idleTimeoutMs).length;
  const outOfUse = new Map(sized.map(({ member }) => [member, Math.ceil(late(member.idleForMs) / 2)]));
  const surplus = Math.min(
    totalOf(sized) - least,
    [...outOfUse.values()].reduce((sum, count) => sum + count, 0),
  );
  if (surplus <= 0 || snapshot.waiting > 0) return unchanged;
  const waitMs = Math.max(timeUntilShrink(snapshot, policy), timeAfterGrowth(snapshot, policy));
  if (waitMs > 0)
    return { ...unchanged, reason: "watching", why: `shrinks in ${Math.ceil(waitMs / 1000)} s at the earliest`, againInMs: waitMs };
  const smaller = shrunk(sized, surplus, (member) => Math.max(floorOf(member), member.replicas - (outOfUse.get(member) ?? 0)));
  const gone = totalOf(sized) - totalOf(smaller);
  if (gone === 0) return unchanged;
  const why = `${gone} fewer: idle for more than ${policy.idleTimeoutMs / 1000} s`;
  return { sized: smaller, reason: "idle", why, againInMs: policy.stabilizationMs };
}

/**
 * Nothing shrinks before a whole window was seen by this process: after a restart it has no history to shrink by. Nor right after a growth
 * or another step down: sizes do not swing.
 */
export function timeUntilShrink({ members, watchedSinceMs, nowMs }: GroupSnapshot, policy: Policy): number {
  const windowMs = Math.max(policy.idleTimeoutMs, policy.stabilizationMs);
  const times = members
    .filter(({ isLocal }) => isLocal)
    .flatMap(({ status }) => [
      leftOf(status.lastScaleDownTime, policy.stabilizationMs, nowMs),
      leftOf(status.lastScaleUpTime, policy.stabilizationMs, nowMs),
    ]);
  return Math.max(0, watchedSinceMs + windowMs - nowMs, ...times);
}

/** A member that grows by steps may lack idle pods while its sibling has some: without a whole window between them the group would swing. */
function timeAfterGrowth({ members, nowMs }: GroupSnapshot, { idleTimeoutMs, stabilizationMs }: Policy): number {
  const times = members
    .filter(({ isLocal }) => isLocal)
    .map(({ status }) => leftOf(status.lastScaleUpTime, idleTimeoutMs + stabilizationMs, nowMs));
  return Math.max(0, ...times);
}
