/** `node test/simulation/run.ts --runs 10000 [--from 1] [--processes 2]`, or one run again: `--seed N [--steps M]`. */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { manyRuns, type Progress } from "./many-runs.ts";
import { plantNamed } from "./plants.ts";
import { defaultSteps, simulate } from "./simulate.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "200" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    steps: { type: "string", default: String(defaultSteps) },
    plant: { type: "string" },
    processes: { type: "string", default: String(availableParallelism()) },
  },
});

const steps = count("steps", values.steps);
const tellEveryMs = 10_000;

if (values.seed === undefined) await many(count("from", values.from), count("runs", values.runs));
else await one(count("seed", values.seed));

async function one(seed: number): Promise<void> {
  const { trace, violation } = await simulate({ seed, steps, plant: plantNamed(values.plant)?.plant });
  console.log(trace);
  console.log(
    violation === undefined ? `\nseed ${seed}: all invariants hold` : `\nseed ${seed}: ${violation.invariant}: ${violation.message}`,
  );
  process.exitCode = violation === undefined ? 0 : 1;
}

async function many(from: number, runs: number): Promise<void> {
  // A name that does not exist is told before any process is started.
  const plant = plantNamed(values.plant)?.name;
  const processes = Math.max(1, count("processes", values.processes));
  const began = performance.now();
  const seconds = (): string => `${((performance.now() - began) / 1000).toFixed(0)} s`;
  const { done, found } = await manyRuns({ from, runs, steps, plant, processes }, teller(runs, seconds));
  console.log(
    `${done} runs from seed ${from} in ${seconds()}: ${found.length === 0 ? "all invariants hold" : `${found.length} seeds fail`}`,
  );
  if (found[0] !== undefined) console.log(`again: node test/simulation/run.ts --seed ${found[0].seed} --steps ${steps}`);
  process.exitCode = found.length === 0 ? 0 : 1;
}

/** Every failure as it is found, the first with its trace; and now and then how far it is. */
function teller(runs: number, seconds: () => string): (progress: Progress) => void {
  let told = 0;
  let tellAgainAt = performance.now() + tellEveryMs;
  return ({ done, found }) => {
    for (const { seed, why, trace } of found.slice(told)) {
      if (told === 0) console.log(trace);
      console.log(`seed ${seed}: ${why}`);
      told++;
    }
    if (performance.now() < tellAgainAt) return;
    tellAgainAt = performance.now() + tellEveryMs;
    console.error(`  ${done} of ${runs} runs after ${seconds()}, ${found.length} failed …`);
  };
}

function count(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--${name} is a whole number, not "${text}"`);
  return number;
}
