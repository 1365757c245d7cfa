/** `node test/simulation/run.ts --runs 10000 [--from 1]`, or one run again: `--seed N [--steps M]`. */
import { parseArgs } from "node:util";
import { defaultSteps, simulate } from "./simulate.ts";
import { plants } from "./plants.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    steps: { type: "string", default: String(defaultSteps) },
    plant: { type: "string" },
  },
});

const steps = count("steps", values.steps);
const planted = values.plant === undefined ? undefined : plants.find(({ name }) => name === values.plant);
if (values.plant !== undefined && planted === undefined) {
  throw new Error(`there is no plant "${values.plant}"; there are ${plants.map(({ name }) => name).join(", ")}`);
}
const options = { steps, plant: planted?.plant };

if (values.seed === undefined) await many(count("from", values.from), count("runs", values.runs ?? "200"));
else await one(count("seed", values.seed));

async function one(seed: number): Promise<void> {
  const { trace, violation } = await simulate({ seed, ...options });
  console.log(trace);
  console.log(
    violation === undefined ? `\nseed ${seed}: all invariants hold` : `\nseed ${seed}: ${violation.invariant}: ${violation.message}`,
  );
  process.exitCode = violation === undefined ? 0 : 1;
}

async function many(from: number, runs: number): Promise<void> {
  const began = performance.now();
  const failures = new Map<number, string>();
  for (let seed = from; seed < from + runs; seed++) {
    const { violation, trace } = await simulate({ seed, ...options });
    if (violation === undefined) continue;
    if (failures.size === 0) console.log(trace);
    failures.set(seed, `${violation.invariant}: ${violation.message}`);
    console.log(`seed ${seed}: ${failures.get(seed)}`);
    if (failures.size >= 20) break;
  }
  const seconds = (performance.now() - began) / 1000;
  console.log(
    `${runs} runs from seed ${from} in ${seconds.toFixed(1)} s: ${failures.size === 0 ? "all invariants hold" : `${failures.size} seeds fail`}`,
  );
  if (failures.size > 0) console.log(`again: node test/simulation/run.ts --seed ${[...failures.keys()][0]} --steps ${steps}`);
  process.exitCode = failures.size === 0 ? 0 : 1;
}

function count(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--${name} is a whole number, not "${text}"`);
  return number;
}
