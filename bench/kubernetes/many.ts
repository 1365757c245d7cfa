/** A node as full as it may be: how long until all pods wait, and what a claim costs among many beside what it costs among few. */
import type { SystemWorld } from "../../test/cluster/system-world.ts";
import type { Answer, Order } from "../claims/ask.ts";
import { percentile, table } from "../lib/measure.ts";
import { BenchPool } from "./pool.ts";

const few = 20;
/** Of each size, in rounds of so many: their pods come back in between. */
const [rounds, claimsOfRound] = [5, 10];

export type Ask = (more: Partial<Order>) => Promise<Answer>;

export async function amongMany(world: SystemWorld, ask: Ask, many: number): Promise<string> {
  const pool = await BenchPool.filled(world, "bench", { replicas: few });
  const amongFew = await claims(world, pool, ask);
  const began = performance.now();
  await world.resize("bench", many);
  await pool.full(many);
  const seconds = (performance.now() - began) / 1000;
  const amongAll = await claims(world, pool, ask, many);
  const row = (ms: readonly number[]): Record<string, string> => ({
    p50: percentile(ms, 0.5).toFixed(1),
    p99: percentile(ms, 0.99).toFixed(1),
  });
  const ratio = `${(percentile(amongAll, 0.5) / percentile(amongFew, 0.5)).toFixed(2)}×`;
  const rows = [
    { what: `a claim among ${few} pods, ms`, values: row(amongFew) },
    { what: `a claim among ${many} pods, ms`, values: { ...row(amongAll), ratio } },
  ];
  const perSecond = ((many - few) / seconds).toFixed(1);
  return `${table(["p50", "p99", "ratio"], rows)}\n\n${many - few} more pods were ready after ${seconds.toFixed(0)} s (${perSecond} a second).`;
}

async function claims(world: SystemWorld, pool: BenchPool, ask: Ask, replicas = pool.replicas): Promise<readonly number[]> {
  const { sandboxes } = await world.api();
  const ms: number[] = [];
  for (let round = -1; round < rounds; round++) {
    const answer = await ask({ count: claimsOfRound });
    // The first round warms up.
    if (round >= 0) ms.push(...answer.ms);
    await Promise.all(answer.ids.map((id) => sandboxes.end(id)));
    await pool.full(replicas);
  }
  return ms;
}
