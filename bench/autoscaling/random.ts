/** Chance that is the same in every run. */
export type Random = () => number;

export function seeded(seed: number): Random {
  let state = (seed * 7_919 + 1) % 2_147_483_647;
  const next = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  // Neighbouring seeds begin alike.
  for (let skip = 0; skip < 10; skip++) next();
  return next;
}

export function exponential(random: Random, mean: number): number {
  return -Math.log(1 - random()) * mean;
}

export function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Arrivals at a rate that changes, by thinning; `perSecond` gets seconds. */
export function timesByRate(perSecond: (seconds: number) => number, lastsMs: number, random: Random): readonly number[] {
  const looks = 500;
  const most = Math.max(...Array.from({ length: looks }, (_, index) => perSecond((index * lastsMs) / looks / 1000)));
  const times: number[] = [];
  for (let at = exponential(random, 1000 / most); at < lastsMs; at += exponential(random, 1000 / most)) {
    if (random() * most < perSecond(at / 1000)) times.push(at);
  }
  return times;
}

/** Sandboxes live log-normally: `medianMs`, and `sigma` of the logarithm. */
export function lives(count: number, random: Random, medianMs = 60_000, sigma = 1): readonly number[] {
  return Array.from({ length: count }, () => medianMs * Math.exp(sigma * normal(random)));
}
