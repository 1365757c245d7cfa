/** When a pool's status tells how many requests wait (pure): the number moves with every request, and each write of it is sent to all that follow pools. */

/** A change that is smaller than this share of the number that was told is not worth a write of its own. */
const notableShare = 0.2;

/** Requests begin to wait, or none waits any more: told as soon as any other change of the pool. */
export function crossesZero(told: number, waiting: number): boolean {
  return (told === 0) !== (waiting === 0);
}

/** The number crosses zero, or differs by a fifth of what was told. */
export function isNotable(told: number, waiting: number): boolean {
  if (told === waiting) return false;
  return crossesZero(told, waiting) || Math.abs(waiting - told) >= notableShare * told;
}
