/** Shares growth and shrinking out among the members of a group. Members of other clusters count and are never changed. */
import type { GroupMember } from "./group.ts";

export interface Sized {
  readonly member: GroupMember;
  readonly replicas: number;
}

export function totalOf(sized: readonly Sized[]): number {
  return sized.reduce((sum, { replicas }) => sum + replicas, 0);
}

/** Adds `amount` pods, the lowest scaleUpPriority first, to members for which `mayGrow` holds; no member passes its maximum. */
export function grown(sized: readonly Sized[], amount: number, mayGrow: (member: GroupMember) => boolean): readonly Sized[] {
  return shared(sized, {
    amount,
    order: byScaleUp,
    room: ({ member, replicas }) => (mayGrow(member) ? roomOf(member, replicas) : 0),
    sign: 1,
  });
}

/** Takes `amount` pods away, the highest scaleDownPriority first; no member goes below its floor. */
export function shrunk(sized: readonly Sized[], amount: number, lowest: (member: GroupMember) => number): readonly Sized[] {
  const room = ({ member, replicas }: Sized): number => (member.isLocal ? Math.max(0, replicas - lowest(member)) : 0);
  return shared(sized, { amount, order: byScaleDown, room, sign: -1 });
}

/** How many more pods the member may have by its own maximum. */
export function roomOf({ isLocal, maxReplicas }: GroupMember, replicas: number): number {
  return isLocal ? Math.max(0, (maxReplicas ?? Number.MAX_SAFE_INTEGER) - replicas) : 0;
}

/** Lower than this makes no sense: its own minimum, and what runs. */
export function floorOf({ minReplicas, claimed }: GroupMember): number {
  return Math.max(minReplicas, claimed);
}

/** The lowest scaleUpPriority first; ties by cluster and name. */
export function byScaleUp(left: GroupMember, right: GroupMember): number {
  return left.scaleUpPriority - right.scaleUpPriority || byPlace(left, right);
}

/** The highest scaleDownPriority first; ties by cluster and name. */
function byScaleDown(left: GroupMember, right: GroupMember): number {
  return right.scaleDownPriority - left.scaleDownPriority || byPlace(left, right);
}

function byPlace(left: GroupMember, right: GroupMember): number {
  return compare(left.clusterID, right.clusterID) || compare(left.name, right.name);
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

interface Sharing {
  readonly amount: number;
  readonly order: (left: GroupMember, right: GroupMember) => number;
  readonly room: (sized: Sized) => number;
  readonly sign: 1 | -1;
}

function shared(sized: readonly Sized[], { amount, order, room, sign }: Sharing): readonly Sized[] {
  let left = Math.max(0, amount);
  const changes = new Map<GroupMember, number>();
  for (const one of [...sized].sort((a, b) => order(a.member, b.member))) {
    const share = Math.min(left, room(one));
    changes.set(one.member, share);
    left -= share;
  }
  return sized.map(({ member, replicas }) => ({ member, replicas: replicas + sign * (changes.get(member) ?? 0) }));
}
