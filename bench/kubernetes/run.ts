/**
 * `make bench-kubernetes`: from a request over HTTP to an armed sandbox on the cluster of `make cluster`, compared with the minimal cost, in one run.
 * Sandboxes are ended meanwhile and their pods are recycled. Siblings: pool.ts (idle pods), floor.ts (the minimum), api-writes.ts (writes to the API
 * server), processor-time.ts (processor time by part), recycling.ts (one pod used repeatedly), report.ts (the table and the goals).
 *   --pool N      pods that wait (default 120)
 *   --seconds N   how long creates come at random (default 20), though no more of them than there are pods
 *   --rates A,B   how many of them a second (default 10,45)
 *   --recycles N  how often the one pod is used (default 50)
 *   --only A,B    some of sequential, bursts, random, fresh, recycles
 *   --idle N      instead of all that: what N waiting pods cost while nothing is asked (idle.ts)
 *   --many N      instead of all that: claims among 20 pods and among N (many.ts)
 */
import { loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { describedCluster, SystemWorld } from "../../test/cluster/system-world.ts";
import { quietMachine } from "../lib/quiet-machine.ts";
import { pushTinyImage } from "../../test/cluster/tiny-image.ts";
import { type Answer, Asker, type Order } from "../claims/ask.ts";
import { perEach, writesSoFar } from "./api-writes.ts";
import { burstFloorOf, floorOf } from "./floor.ts";
import { whileIdle } from "./idle.ts";
import { amongMany } from "./many.ts";
import { BenchPool } from "./pool.ts";
import { processorTimeReader, timeBetween } from "./processor-time.ts";
import { recycle } from "./recycling.ts";
import { Report } from "./report.ts";

const { values: args } = parseArgs({
  options: {
    pool: { type: "string", default: "120" },
    seconds: { type: "string", default: "20" },
    rates: { type: "string", default: "10,45" },
    recycles: { type: "string", default: "50" },
    only: { type: "string", default: "sequential,bursts,random,fresh,recycles" },
    idle: { type: "string" },
    many: { type: "string" },
  },
});

const report = new Report();
const only = new Set(args.only.split(","));
const say = (text: string): void => console.error(`  ${text} … (load ${loadavg()[0]?.toFixed(1)})`);
/** How long a sandbox is used where creates come at random. */
const useMs = 500;

interface Measured {
  readonly world: SystemWorld;
  readonly pool: BenchPool;
  readonly ask: (more: Partial<Order>) => Promise<Answer>;
  /** Ends them, and waits until their pods wait again. */
  readonly back: (answer: Answer) => Promise<void>;
  /** Reports what the processors did meanwhile, for each of so many. */
  readonly counted: <T>(what: string, each: number, act: () => Promise<T>) => Promise<T>;
}

async function sequential({ world, pool, ask, back, counted }: Measured): Promise<void> {
  say("one after another");
  const count = Math.min(100, pool.replicas);
  // A server has had its first hundred creates soon, and until then it compiles.
  await back(await ask({ count }));
  const before = await writesSoFar(world.cluster);
  const made = await counted("a create, one after another", count, () => ask({ count }));
  const claimed = await writesSoFar(world.cluster);
  report.sequential(made.ms, perEach(before, claimed, count));
  await counted("an end, with the pod's way back", count, () => back(made));
  report.ends(perEach(claimed, await writesSoFar(world.cluster), count));
}

async function atRandom({ pool, ask, counted }: Measured, perSecond: number): Promise<void> {
  say(`${perSecond} a second`);
  // Beyond these it is the node's renewals that are waited for, and their time is told with one pod again and again.
  const count = Math.min(perSecond * Number(args.seconds), pool.replicas);
  const order = { count, perSecond, isPoisson: true, endAfterMs: useMs };
  report.atRandom(perSecond, await counted(`all of it, at ${perSecond} a second`, count, () => ask(order)));
  await pool.full();
}

async function bursts({ world, pool, ask, back, counted }: Measured): Promise<void> {
  for (const count of [50, 100].filter((size) => size <= pool.replicas)) {
    report.burstFloor(count, await burstFloorOf(world, await pool.full(), count));
    // The pods of the minimum are deleted, and all watches have seen that.
    await quietMachine();
    say(`a burst of ${count}`);
    const made = await counted(`a create, ${count} at once`, count, () => ask({ count, parallel: count }));
    report.burst(count, made);
    await back(made);
  }
}

/** Five pods that wait on another image, four times; the node has this one after the first. */
async function freshImage(world: SystemWorld, ask: Measured["ask"]): Promise<void> {
  say("another image than the one that waits");
  const image = await pushTinyImage(world.cluster.registry, { name: "bench/fresh:1", files: { which: "fresh" } });
  const pool = await BenchPool.filled(world, "fresh", { replicas: 5 });
  const { sandboxes } = await world.api();
  const body = { poolName: pool.name, image };
  const ms: number[] = [];
  await ask({ body, count: 1, endAfterMs: 0 });
  for (let round = 0; round < 4; round++) {
    await pool.full();
    const made = await ask({ body, count: pool.replicas });
    ms.push(...made.ms);
    await Promise.all(made.ids.map((id) => sandboxes.end(id)));
  }
  report.freshImage(ms);
}

async function measure(): Promise<void> {
  await using world = await SystemWorld.open(await describedCluster());
  // At the deadline, use the pods that exist.
  const leave = (): void => {
    report.print();
    void world[Symbol.asyncDispose]().finally(() => process.exit(130));
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, leave);
  await world.start();
  using asker = new Asker();
  await asker.warmUp();
  const { sandboxes } = await world.api();
  const { url, apiKey } = await world.access();
  const ask = (more: Partial<Order>): Promise<Answer> =>
    asker.tell({ url, apiKey, body: { poolName: "bench" }, count: 1, parallel: 1, ...more });
  if (args.idle !== undefined) {
    say(`${args.idle} idle pods`);
    console.log(await whileIdle(world, Number(args.idle)));
    return;
  }
  if (args.many !== undefined) {
    say(`claims among 20 pods and among ${args.many}`);
    console.log(await amongMany(world, ask, Number(args.many)));
    return;
  }
  say(`a pool of ${args.pool}`);
  const pool = await BenchPool.filled(world, "bench", { replicas: Number(args.pool) });
  const back = async ({ ids }: Answer): Promise<void> => {
    await Promise.all(ids.map((id) => sandboxes.end(id)));
    await pool.full();
  };
  const used = processorTimeReader({ agentbox: world.process.pid, client: asker.pid });
  const counted: Measured["counted"] = async (what, each, act) => {
    const before = used();
    const result = await act();
    report.processors(what, timeBetween(before, used()), each);
    return result;
  };
  const measured: Measured = { world, pool, ask, back, counted };
  say("the floor");
  report.floor(await floorOf(world, await pool.full(), 100));
  await counted("a second in which nothing happens", 10, () => sleep(10_000));
  if (only.has("sequential")) await sequential(measured);
  if (only.has("random")) for (const perSecond of args.rates.split(",").map(Number)) await atRandom(measured, perSecond);
  if (only.has("bursts")) await bursts(measured);
  await world.resize("bench", 0);
  if (only.has("fresh")) await freshImage(world, ask);
  if (!only.has("recycles")) return;
  say("one pod again and again");
  const times = Number(args.recycles);
  report.recycled(await counted("a create, an end and the pod's way back, alone", times, () => recycle(world, times)), times);
}

await measure();
if (args.many === undefined && args.idle === undefined) report.print();
