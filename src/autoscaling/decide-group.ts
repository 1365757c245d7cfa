/** One decision for a whole scaling group. */
import { kubernetesTime } from "#lib/clock.ts";
import type { DecisionReason, GroupEvent, GroupMember, GroupPlan, GroupSnapshot } from "./group.ts";
import { growBySteps } from "./grow-by-steps.ts";
import { type Policy, policyOf, saturatedForMs } from "./policy.ts";
import { scheduledFloor, type ScheduledFloor } from "./schedules.ts";
import { shrinkIdle } from "./shrink-idle.ts";
import { sizeByDemand } from "./size-by-demand.ts";
import { floorOf, grown, roomOf, shrunk, type Sized, totalOf } from "./sized-members.ts";

/** Of a group that is not enabled nothing changes. */
export function decideGroup(snapshot: GroupSnapshot): GroupPlan {
  const { group, members } = snapshot;
  const present = members.map((member) => ({ member, replicas: member.replicas }));
  if (group.enabled !== true) {
    const wanted = totalOf(present);
    return planOf(snapshot, present, { wanted, reason: "disabled", why: "autoscaling of the group is off", againInMs: undefined });
  }
  const policy = policyOf(group);
  const schedule = scheduledFloor(group.schedules ?? [], snapshot.nowMs);
  const bounds = boundsOf(snapshot, schedule);
  const placed = present.map(({ member, replicas }) => ({ member, replicas: replicas - strandedOf(member) }));
  const used = inUse(ownMaximaKept(placed));
  const outcome = byMode(snapshot, used, policy, bounds);
  const raised = minimaRaised(snapshot, outcome.sized, policy, bounds);
  const capped = maximumKept(raised, bounds.most);
  const { reason, why } = bounded(outcome, capped, schedule);
  return planOf(snapshot, capped, {
    ...outcome,
    reason,
    why: [why, strandedWords(members)].filter((words) => words !== "").join("; "),
    isInUse: totalOf(used) > totalOf(placed),
  });
}

/** Pods that no node takes are had from siblings, as far as the member's own minimum lets them go. */
function strandedOf({ isLocal, replicas, minReplicas, stranded = 0 }: GroupMember): number {
  return isLocal ? Math.max(0, Math.min(stranded, replicas - minReplicas)) : 0;
}

function strandedWords(members: readonly GroupMember[]): string {
  return members
    .filter(({ stranded = 0 }) => stranded > 0)
    .map(({ name, stranded = 0 }) => `no node takes ${stranded} of ${name}`)
    .join("; ");
}

interface Bounds {
  readonly least: number;
  readonly most: number;
}

interface Outcome {
  readonly wanted: number;
  readonly reason: DecisionReason | undefined;
  readonly why: string;
  readonly againInMs: number | undefined;
  readonly isInUse?: boolean;
}

function boundsOf({ group, members }: GroupSnapshot, { minReplicas }: ScheduledFloor): Bounds {
  const most = group.maxReplicas ?? Number.MAX_SAFE_INTEGER;
  const ofMembers = members.reduce((sum, member) => sum + member.minReplicas, 0);
  return { least: Math.min(most, Math.max(group.minReplicas ?? 0, minReplicas, ofMembers)), most };
}

/** What runs is wanted, however it came to run: pods that were made for waiting requests are beyond the number until it follows. */
function inUse(sized: readonly Sized[]): readonly Sized[] {
  return sized.map(({ member, replicas }) => ({ member, replicas: raisedTo(member, replicas, member.claimed) }));
}

/** No further than to its maximum. */
function raisedTo(member: GroupMember, replicas: number, least: number): number {
  return replicas + Math.min(Math.max(0, least - replicas), roomOf(member, replicas));
}

function byMode(
  snapshot: GroupSnapshot,
  used: readonly Sized[],
  policy: Policy,
  bounds: Bounds,
): Outcome & { readonly sized: readonly Sized[] } {
  if (policy.mode === "Demand") return sizeByDemand(snapshot, used, policy, bounds);
  const isRaised = used.some(({ member, replicas }) => replicas > member.replicas);
  if (isRaised) {
    return { sized: used, wanted: totalOf(used), reason: "in-use", why: "more sandboxes run than pods were wanted", againInMs: undefined };
  }
  const growth = growBySteps(snapshot, used, policy, Math.max(0, bounds.most - totalOf(used)));
  if (totalOf(growth.sized) > totalOf(used)) return { ...growth, wanted: totalOf(growth.sized), againInMs: policy.cooldownMs };
  const down = shrinkIdle(snapshot, used, policy, bounds.least);
  const reason = growth.reason ?? down.reason;
  return { ...down, reason, wanted: totalOf(down.sized), why: growth.reason === undefined ? down.why : growth.why };
}

/** Minima raise, except on members that have just turned out to be full. */
function minimaRaised({ nowMs }: GroupSnapshot, sized: readonly Sized[], policy: Policy, { least, most }: Bounds): readonly Sized[] {
  const mayGrow = (member: GroupMember): boolean =>
    member.isLocal && member.fullBecause === undefined && saturatedForMs(member, policy, nowMs) === 0;
  const own = sized.map(({ member, replicas }) => ({
    member,
    replicas: mayGrow(member) ? raisedTo(member, replicas, member.minReplicas) : replicas,
  }));
  return grown(own, Math.min(least, most) - totalOf(own), mayGrow);
}

/** First of all: what a member has too much may be had by a sibling. */
function ownMaximaKept(sized: readonly Sized[]): readonly Sized[] {
  return sized.map(({ member, replicas }) => ({
    member,
    replicas: member.isLocal ? Math.min(replicas, member.maxReplicas ?? replicas) : replicas,
  }));
}

/** Maxima cap. The number falls below what runs only where the maximum is below it; what runs is not taken away by that. */
function maximumKept(sized: readonly Sized[], most: number): readonly Sized[] {
  const aboveFloors = shrunk(sized, totalOf(sized) - most, floorOf);
  const aboveUse = shrunk(aboveFloors, totalOf(aboveFloors) - most, ({ claimed }) => claimed);
  return shrunk(aboveUse, totalOf(aboveUse) - most, () => 0);
}

/** What minima and maxima made of what the mode wanted. */
function bounded(
  outcome: Outcome & { readonly sized: readonly Sized[] },
  final: readonly Sized[],
  schedule: ScheduledFloor,
): Pick<Outcome, "reason" | "why"> {
  const [total, before] = [totalOf(final), totalOf(outcome.sized)];
  const words = (more: string): string => (outcome.why === "" ? more : `${outcome.why}; ${more}`);
  if (total < before) return { reason: "maximum", why: words(`no more than ${total}: maximum of the group or a member`) };
  if (schedule.name !== undefined && total === schedule.minReplicas && total > outcome.wanted) {
    return { reason: "schedule", why: words(`at least ${total}: schedule ${schedule.name}`) };
  }
  if (total > before) return { reason: "minimum", why: words(`at least ${total}: minimum of the group or a member`) };
  return { reason: outcome.reason, why: outcome.why };
}

function planOf(snapshot: GroupSnapshot, sized: readonly Sized[], outcome: Outcome): GroupPlan {
  const local = sized.filter(({ member }) => member.isLocal);
  const decision = sentence(snapshot, totalOf(sized), outcome);
  return {
    members: local.map(({ member, replicas }) => ({
      name: member.name,
      replicas,
      grows: replicas > member.replicas,
      idleZeroSince: idleZeroSince(member, snapshot.nowMs),
    })),
    wanted: outcome.wanted,
    spare: policyOf(snapshot.group).mode === "Demand" ? snapshot.arrivals.spare : 0,
    decision,
    reason: outcome.reason ?? (outcome.isInUse === true ? "in-use" : "steady"),
    events: local.flatMap(({ member, replicas }) => startedEvents(member, replicas, decision)),
    againInMs: outcome.againInMs,
  };
}

function sentence({ group, members, waiting, arrivals }: GroupSnapshot, total: number, { wanted, why }: Outcome): string {
  const claimed = members.reduce((sum, member) => sum + member.claimed, 0);
  const isDemand = policyOf(group).mode === "Demand" && group.enabled === true;
  const spare = isDemand
    ? `, ${arrivals.spare} spare for ${perSecond(arrivals.perSecond)} over ${(arrivals.refillMs / 1000).toFixed(1)} s`
    : "";
  const more = why === "" ? "" : `; ${why}`;
  return `${isDemand ? wanted : total} wanted: ${claimed} in use, ${waiting} waiting${spare}${more}`;
}

function perSecond(rate: number): string {
  if (rate >= 0.05 || rate === 0) return `${rate.toFixed(1)}/s`;
  return rate * 60 >= 0.05 ? `${(rate * 60).toFixed(1)}/min` : `${(rate * 3600).toFixed(1)}/h`;
}

/** Bookkeeping that goes on in every mode. */
function idleZeroSince({ idle, status }: GroupMember, nowMs: number): string | undefined {
  return idle > 0 ? undefined : (status.idleZeroSince ?? kubernetesTime(nowMs));
}

function startedEvents(member: GroupMember, replicas: number, decision: string): readonly GroupEvent[] {
  if (replicas >= member.replicas) return [];
  const message = `from ${member.replicas} to ${replicas} pods: ${decision}`;
  return [{ type: "Normal", reason: "AutoscalerScaleDownStarted", message, member: member.name }];
}
