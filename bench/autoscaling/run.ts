/**
 * Compares ways to size pools, in simulated time, with our real decision code: `make bench-autoscaling`, or
 *
 *   node bench/autoscaling/run.ts [--quick] [--only flat,bursts] [--seeds 1,2,3] [--out FOLDER]
 *   node bench/autoscaling/run.ts --trace FILE [--lives FILE] [--pools 30]
 *
 * Writes tables and pictures into a folder and says which goals are met.
 *
 * - `simulate.ts`   a pool in simulated time; `end-times.ts`, `random.ts` tools of it
 * - `made-loads.ts` arrivals; `serverless.ts` those of unlike pools; `trace.ts` those of a file, and which formats it may have
 * - `compared.ts`   policies and their settings: `published-policies.ts` of others and an oracle, `product-policies.ts` ours and the step modes
 * - `measure.ts`    runs them; `equal-cost.ts` compares them at equal cost
 * - `report.ts`     tables and goals; `picture.ts` pictures
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ours } from "./compared.ts";
import { madeLoads, type NamedLoad } from "./made-loads.ts";
import { averaged, measured } from "./measure.ts";
import { pictureOfCosts, pictureOfRun } from "./picture.ts";
import { reportOf } from "./report.ts";
import { traceLoad } from "./trace.ts";

const shownSetting = "99 %, 600 s, 0 s";

function main(): void {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      seeds: { type: "string" },
      out: { type: "string", default: join(tmpdir(), "agentbox-bench-autoscaling") },
      trace: { type: "string" },
      lives: { type: "string" },
      pools: { type: "string", default: "30" },
    },
  });
  const { quick: isQuick, trace, lives: livesFile, out } = values;
  const seeds = (values.seeds ?? (isQuick ? "1" : "1,2,3")).split(",").map(Number);
  mkdirSync(out, { recursive: true });
  if (trace !== undefined) {
    run(out, [traceLoad(trace, { livesFile, seed: seeds[0] ?? 1, maxPools: Number(values.pools) })]);
  } else {
    const bySeed = seeds.map((seed) => madeLoads(seed, isQuick));
    const names = values.only?.split(",") ?? bySeed[0]?.map(({ name }) => name) ?? [];
    for (const name of names)
      run(
        out,
        bySeed.flatMap((loads) => loads.filter((load) => load.name === name)),
      );
  }
  console.log(`tables and pictures: ${out}`);
}

/** The same load with several seeds. */
function run(out: string, loads: readonly NamedLoad[]): void {
  const [first] = loads;
  if (first === undefined) throw new Error("no such load: --only takes names of made loads, such as flat,bursts");
  const all = loads.map((load, index) => {
    console.error(`${load.name}: ${index + 1} of ${loads.length} …`);
    return measured(load);
  });
  const results = averaged(all.map((one) => one.results));
  const report = reportOf(first, results);
  const file = join(out, first.name.replaceAll(/[^\w.-]/g, "_"));
  writeFileSync(`${file}.md`, report);
  writeFileSync(`${file}-costs.svg`, pictureOfCosts(first.name, results));
  for (const [setting, outcome] of all[0]?.runs ?? []) {
    if (setting === `${ours} ${shownSetting}`) writeFileSync(`${file}-run.svg`, pictureOfRun(`${first.name}, ${setting}`, outcome));
  }
  console.log(report.slice(report.indexOf("Misses in % at equal")).replace(/^/, `\n## ${first.name}\n`));
}

main();
