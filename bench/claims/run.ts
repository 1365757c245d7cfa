/**
 * `make bench-claims`: from a request over HTTP to an armed sandbox, beside the least that it can cost, in one run. Siblings:
 * simulated-server.ts and daemons.ts (pods without containers), real-server.ts (`agentbox up`), ask.ts and load.ts (the clients),
 * floor.ts (the least).
 *   --simulated-only   without real containers, which need root
 *   --real N           real sandboxes (default 60)
 */
import { parseArgs } from "node:util";
import { percentile, type Row, table } from "../lib/measure.ts";
import { type Answer, Asker, type Order } from "./ask.ts";
import { floorOf } from "./floor.ts";
import { realClaims } from "./real-server.ts";
import { startSimulatedServer, type SimulatedServer } from "./simulated-server.ts";

const { values: args } = parseArgs({
  options: { "simulated-only": { type: "boolean", default: false }, real: { type: "string", default: "60" } },
});

const rows: Row[] = [];
const say = (text: string): void => console.error(`  ${text} …`);
const p = (ms: readonly number[], share: number): string => percentile(ms, share).toFixed(2);

interface Judged {
  readonly ratio?: string;
  readonly target?: string;
}

function row(what: string, ms: readonly number[], { ratio, target }: Judged = {}, rate?: number): void {
  const perSecond = rate === undefined ? "–" : rate.toFixed(0);
  rows.push({ what, values: { p50: p(ms, 0.5), p99: p(ms, 0.99), "per s": perSecond, ratio: ratio ?? "–", target: target ?? "–" } });
}

const verdict = (target: string, isMet: boolean): string => `${target} ${isMet ? "✓" : "✗"}`;

async function simulated(): Promise<void> {
  await using server = await startSimulatedServer();
  using asker = new Asker();
  const order = (more: Partial<Order>): Order => ({
    url: server.url,
    apiKey: server.apiKey,
    body: { poolName: "bench" },
    count: 1,
    parallel: 1,
    ...more,
  });
  const ask = (more: Partial<Order>): Promise<Answer> => asker.ask(order(more));

  say("warming up, and the floor");
  await server.addIdle(600);
  await ask({ count: 300 });
  const floor = await floorOf(server, await server.addIdle(500));
  row("floor: one conditional patch + one HTTP call", floor);
  await server.removeAll();

  const small = await flat(server, ask, 10);
  row("one after another, 10 idle", small);
  const large = await flat(server, ask, 10_000);
  const over = percentile(large, 0.5) / percentile(floor, 0.5);
  const growth = percentile(large, 0.5) / percentile(small, 0.5);
  row("one after another, 10,000 idle", large, { ratio: `${over.toFixed(2)}× floor`, target: verdict("≤ 3×", over <= 3) });
  rows.push({
    what: "10,000 idle beside 10 idle, p50",
    values: { ratio: `${growth.toFixed(2)}×`, target: verdict("flat (≤ 1.25×)", growth <= 1.25) },
  });

  say("open loop and bursts");
  row("open loop, 50/s", (await ask({ count: 500, perSecond: 50 })).ms);
  row("open loop, 500/s", (await ask({ count: 2500, perSecond: 500 })).ms);
  for (const burst of [100, 1000]) {
    const { ms, tookMs } = await ask({ count: burst, parallel: burst });
    row(`burst of ${burst}`, ms, {}, (burst / tookMs) * 1000);
  }
  const { ms, tookMs } = await ask({ count: 4000, parallel: 64 });
  const rate = (4000 / tookMs) * 1000;
  row("64 at once", ms, { target: verdict("≥ 1,000/s", rate >= 1000) }, rate);
}

/** Creates one after another while so many are idle. */
async function flat(server: SimulatedServer, ask: (more: Partial<Order>) => Promise<Answer>, idle: number): Promise<readonly number[]> {
  say(`one after another with ${idle} idle pods`);
  await server.addIdle(idle);
  const ms: number[] = [];
  for (let round = 0; round < 30; round++) {
    ms.push(...(await ask({ count: 10 })).ms);
    await server.addIdle(10);
  }
  return ms;
}

await simulated();
if (!args["simulated-only"]) {
  const real = await realClaims(Number(args.real), say);
  row("real containers, the first five after a start, same image", real.first);
  const [p50, p99] = [percentile(real.fast, 0.5), percentile(real.fast, 0.99)];
  row("real containers, one after another, same image", real.fast, { target: verdict("p50 ≤ 8, p99 ≤ 30", p50 <= 8 && p99 <= 30) });
  row("real containers, burst, same image", real.burst);
  row("real containers, one after another, swapped image", real.swapped);
}
console.log(table(["p50", "p99", "per s", "ratio", "target"], rows));
console.log("\nmilliseconds from the HTTP request to the answer with an armed sandbox");
