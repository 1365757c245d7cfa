/**
 * Which pool makes a pod for which waiting request. Every pool's loop asks for itself and comes to the same answer, because the answer
 * follows from the same numbers in the same order: one waiter, one pod.
 */

/** Requests that wait for a pod of any of these pools. */
export interface Waiters {
  readonly pools: readonly string[];
  readonly count: number;
}

/** A pool that waiters may get pods from. */
export interface GrowingPool {
  readonly key: string;
  /** The scaling group that it belongs to. */
  readonly group: string;
  readonly scaleUpPriority: number;
  /** Pods on their way that no request is known to wait for yet: idle ones, ready or not, and those being recycled. */
  readonly coming: number;
  /** How many more pods it may have beside those that it has. */
  readonly room: number;
  /** It counts as full: only used when no other pool has room. */
  readonly isSaturated: boolean;
}

/**
 * Pods on their way are given out first; then new ones, by scaleUpPriority. `rooms`: how many more pods each group may have.
 * Gives the number of waiters of each pool that are to have a pod there, those on their way included.
 */
export function allotWaiters(
  sets: readonly Waiters[],
  pools: readonly GrowingPool[],
  rooms: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const order = [...pools].sort(
    (left, right) =>
      Number(left.isSaturated) - Number(right.isSaturated) || left.scaleUpPriority - right.scaleUpPriority || compare(left.key, right.key),
  );
  const allotted = new Map(pools.map(({ key }) => [key, 0]));
  const coming = new Map(pools.map((pool) => [pool.key, pool.coming]));
  const places = new Map(pools.map((pool) => [pool.key, pool.room]));
  const ofGroups = new Map(rooms);
  // The pickiest first: what can be served by one pool alone must not find it given away.
  const waiting = [...sets].sort((one, other) => one.pools.length - other.pools.length || compare(one.pools.join(), other.pools.join()));
  for (const { pools: possible, count } of waiting) {
    const eligible = order.filter(({ key }) => possible.includes(key));
    let waiters = count;
    const give = (key: string, from: Map<string, number>, most: number): number => {
      const given = Math.min(waiters, from.get(key) ?? 0, most);
      from.set(key, (from.get(key) ?? 0) - given);
      allotted.set(key, (allotted.get(key) ?? 0) + given);
      waiters -= given;
      return given;
    };
    for (const { key } of eligible) give(key, coming, Infinity);
    for (const { key, group } of eligible) {
      const left = ofGroups.get(group) ?? Infinity;
      ofGroups.set(group, left - give(key, places, left));
    }
  }
  return allotted;
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
