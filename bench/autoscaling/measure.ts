/** Runs every policy with every setting over one load, and sums up over its pools. */
import { families } from "./compared.ts";
import type { NamedLoad } from "./made-loads.ts";
import { type Outcome, simulate } from "./simulate.ts";

export interface Result {
  readonly family: string;
  readonly setting: string;
  readonly missPercent: number;
  /** Of the pools, three quarters miss less. */
  readonly p75MissPercent: number;
  readonly p50WaitMs: number;
  readonly p99WaitMs: number;
  readonly idleSeconds: number;
  readonly busySeconds: number;
  readonly madePerRequest: number;
  readonly earlyMissPercent: number;
}

export interface Measured {
  readonly results: readonly Result[];
  /** The first pool's run, by family and setting, for pictures. */
  readonly runs: ReadonlyMap<string, Outcome>;
}

export function measured({ pools }: NamedLoad): Measured {
  const runs = new Map<string, Outcome>();
  // The busiest says most in a picture.
  const shown = pools.reduce((most, pool, index) => (pool.arrivals.length > (pools[most]?.arrivals.length ?? 0) ? index : most), 0);
  const results = families.flatMap(({ name, settings }) =>
    settings.map((setting) => {
      const outcomes = pools.map((pool) => simulate(pool, setting.make(pool)));
      const [run] = outcomes.slice(shown);
      if (run !== undefined) runs.set(`${name} ${setting.name}`, run);
      return summed(name, setting.name, outcomes);
    }),
  );
  return { results, runs };
}

function summed(family: string, setting: string, outcomes: readonly Outcome[]): Result {
  const sum = (of: (outcome: Outcome) => number): number => outcomes.reduce((all, outcome) => all + of(outcome), 0);
  const waits = inOrder(outcomes.flatMap(({ waitsMs }) => waitsMs));
  const shares = inOrder(outcomes.map(({ misses, requests }) => (100 * misses) / Math.max(1, requests)));
  const requests = Math.max(
    1,
    sum((outcome) => outcome.requests),
  );
  return {
    family,
    setting,
    missPercent: (100 * sum(({ misses }) => misses)) / requests,
    p75MissPercent: shares[Math.floor(shares.length * 0.75)] ?? 0,
    p50WaitMs: waits[Math.floor(waits.length * 0.5)] ?? 0,
    p99WaitMs: waits[Math.floor(waits.length * 0.99)] ?? 0,
    idleSeconds: sum((outcome) => outcome.idleSeconds),
    busySeconds: sum((outcome) => outcome.busySeconds),
    madePerRequest: sum(({ made }) => made) / requests,
    earlyMissPercent:
      (100 * sum(({ early }) => early.misses)) /
      Math.max(
        1,
        sum(({ early }) => early.requests),
      ),
  };
}

/** Of several seeds: the mean of each number. */
export function averaged(bySeed: readonly (readonly Result[])[]): readonly Result[] {
  return (bySeed[0] ?? []).map((first, index) => {
    const mean = (of: (result: Result) => number): number =>
      bySeed.reduce((sum, results) => sum + of(results[index] ?? first), 0) / bySeed.length;
    return {
      family: first.family,
      setting: first.setting,
      missPercent: mean((one) => one.missPercent),
      p75MissPercent: mean((one) => one.p75MissPercent),
      p50WaitMs: mean((one) => one.p50WaitMs),
      p99WaitMs: mean((one) => one.p99WaitMs),
      idleSeconds: mean((one) => one.idleSeconds),
      busySeconds: mean((one) => one.busySeconds),
      madePerRequest: mean((one) => one.madePerRequest),
      earlyMissPercent: mean((one) => one.earlyMissPercent),
    };
  });
}

function inOrder(numbers: number[]): readonly number[] {
  return numbers.sort((one, other) => one - other);
}
