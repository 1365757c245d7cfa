/** What a run has, by its seed. */

/** In every second run, as on a cluster; in the others they are written to the pods. */
export function areClaimsOnLeases(seed: number): boolean {
  return seed % 2 === 0;
}

/** In half of the runs, with claims on pods and on Leases alike. */
export function hasEnv(seed: number): boolean {
  return Math.floor(seed / 2) % 2 === 0;
}

/** In half of those with an Env. */
export function isQuotaSet(seed: number): boolean {
  return Math.floor(seed / 4) % 2 === 0;
}
