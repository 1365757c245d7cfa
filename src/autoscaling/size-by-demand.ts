/** Mode Demand: as many pods as are in use and waited for, and spare ones for the arrivals of one refill time. Up at once, down slowly. */
import type { DecisionReason, GroupSnapshot } from "./group.ts";
import { type Policy, saturatedForMs } from "./policy.ts";
import { timeUntilShrink } from "./shrink-idle.ts";
import { floorOf, grown, shrunk, type Sized, totalOf } from "./sized-members.ts";

export interface DemandBounds {
  readonly least: number;
  readonly most: number;
}

export interface DemandSizing {
  readonly sized: readonly Sized[];
  readonly wanted: number;
  readonly reason: DecisionReason | undefined;
  readonly why: string;
  readonly againInMs: number | undefined;
}

export function wantedByDemand({ members, waiting, arrivals }: Pick<GroupSnapshot, "members" | "waiting" | "arrivals">): number {
  return members.reduce((sum, { claimed }) => sum + claimed, 0) + waiting + arrivals.spare;
}

export function sizeByDemand(
  snapshot: GroupSnapshot,
  sized: readonly Sized[],
  policy: Policy,
  { least, most }: DemandBounds,
): DemandSizing {
  const wanted = wantedByDemand(snapshot);
  const total = totalOf(sized);
  const goal = Math.min(Math.max(wanted, least), most);
  if (goal > total) {
    const larger = grown(
      sized,
      goal - total,
      (member) => member.fullBecause === undefined && saturatedForMs(member, policy, snapshot.nowMs) === 0,
    );
    const isAll = totalOf(larger) === goal;
    const why = isAll ? "" : `${goal - totalOf(larger)} of them do not fit: members are full or at their maximum`;
    return { sized: larger, wanted, reason: totalOf(larger) > total ? "demand" : "saturated", why, againInMs: undefined };
  }
  // What was wanted a moment ago is likely to be wanted again: pods go only when they were not wanted for a whole window.
  const held = Math.min(Math.max(goal, snapshot.recentPeak), most);
  const surplus = total - held;
  const againInMs = total > goal ? recheckMs : undefined;
  if (surplus <= 0) return { sized, wanted, reason: total > goal ? "held" : "steady", why: heldWords(total, goal, policy), againInMs };
  const waitMs = timeUntilShrink(snapshot, policy);
  if (waitMs > 0) {
    return { sized, wanted, reason: "watching", why: `shrinks in ${Math.ceil(waitMs / 1000)} s at the earliest`, againInMs: waitMs };
  }
  const smaller = shrunk(sized, surplus, floorOf);
  const gone = total - totalOf(smaller);
  if (gone === 0) return { sized, wanted, reason: "steady", why: "", againInMs };
  return { sized: smaller, wanted, reason: "idle", why: `${gone} fewer: not wanted for ${policy.idleTimeoutMs / 1000} s`, againInMs };
}

/** How often it is looked at whether what is held is still held by something. */
const recheckMs = 5_000;

function heldWords(total: number, goal: number, { idleTimeoutMs }: Policy): string {
  return total > goal ? `${total} kept: as many were wanted in the last ${idleTimeoutMs / 1000} s` : "";
}
