/** Quantiles of counts: how many arrivals are not exceeded with a given probability. */

/** Above this mean a normal distribution is close enough, and the sums below would underflow. */
const largeMean = 300;

/** The smallest k with P(X ≤ k) ≥ p for a Poisson count. */
export function poissonQuantile(mean: number, p: number): number {
  return countQuantile(mean, mean, p);
}

/** For counts whose variance may be above their mean: negative binomial then, else Poisson. */
export function countQuantile(mean: number, variance: number, p: number): number {
  if (mean <= 0) return 0;
  if (mean > largeMean) return Math.ceil(mean + normalQuantile(p) * Math.sqrt(Math.max(mean, variance)));
  const isSpread = variance > mean * 1.01;
  const size = isSpread ? (mean * mean) / (variance - mean) : Infinity;
  const share = isSpread ? mean / (mean + size) : 0;
  let chance = isSpread ? Math.exp(size * Math.log1p(-share)) : Math.exp(-mean);
  let sum = chance;
  // The tail ends: beyond this many nothing is added that a double could hold.
  const most = Math.ceil(mean + 40 * Math.sqrt(Math.max(mean, variance)) + 50);
  let k = 0;
  while (sum < p && k < most) {
    chance *= isSpread ? ((size + k) / (k + 1)) * share : mean / (k + 1);
    sum += chance;
    k += 1;
  }
  return k;
}

/** Of the standard normal distribution, by the rational approximation of Abramowitz and Stegun 26.2.23; good to 0.0005. */
function normalQuantile(p: number): number {
  const tail = Math.min(p, 1 - p);
  const t = Math.sqrt(-2 * Math.log(tail));
  const z = t - (2.515517 + 0.802853 * t + 0.010328 * t * t) / (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);
  return p < 0.5 ? -z : z;
}
