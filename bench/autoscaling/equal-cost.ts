/**
 * Misses of a policy at a cost that none of its settings has exactly: on the lower convex hull of its settings, for between two of them a fleet
 * can use the one for some pools and the other for the rest. Dearer than its dearest setting it misses as much as with that; cheaper than its
 * cheapest it cannot be had.
 */
export interface Point {
  readonly idleSeconds: number;
  readonly missPercent: number;
}

export function hullOf(points: readonly Point[]): readonly Point[] {
  const hull: Point[] = [];
  for (const point of points.toSorted((one, other) => one.idleSeconds - other.idleSeconds || one.missPercent - other.missPercent)) {
    // More idle and no fewer misses: no setting to choose.
    if (point.missPercent >= (hull.at(-1)?.missPercent ?? Infinity)) continue;
    for (let [before, last] = [hull.at(-2), hull.at(-1)]; before && last && slope(before, point) <= slope(before, last);) {
      hull.pop();
      [before, last] = [hull.at(-2), hull.at(-1)];
    }
    hull.push(point);
  }
  return hull;
}

export function missesAt(idleSeconds: number, hull: readonly Point[]): number | undefined {
  const above = hull.findIndex((point) => point.idleSeconds >= idleSeconds);
  if (above === -1) return hull.at(-1)?.missPercent;
  const [low, high] = [hull[above - 1], hull[above]];
  if (high?.idleSeconds === idleSeconds) return high.missPercent;
  if (low === undefined || high === undefined) return undefined;
  return low.missPercent + (idleSeconds - low.idleSeconds) * slope(low, high);
}

/** Idle seconds that buy so few misses; undefined where no setting does. */
export function idleAt(missPercent: number, hull: readonly Point[]): number | undefined {
  const index = hull.findIndex((point) => point.missPercent <= missPercent);
  const [low, high] = [hull[index - 1], hull[index]];
  if (high === undefined || low === undefined) return high?.idleSeconds;
  return low.idleSeconds + (missPercent - low.missPercent) / slope(low, high);
}

function slope(from: Point, to: Point): number {
  return (to.missPercent - from.missPercent) / (to.idleSeconds - from.idleSeconds);
}
