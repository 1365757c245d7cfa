/** The long form of chaos.test.ts: `node test/node/chaos/run.ts --kills 100`, with --seed to repeat one. Needs root. */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { chaosRun } from "./chaos-run.ts";

const { values } = parseArgs({ options: { kills: { type: "string", default: "100" }, seed: { type: "string" } } });
const kills = Number(values.kills);
const seed = Number(values.seed ?? randomInt(2 ** 31));
if (!Number.isInteger(kills) || kills < 1 || !Number.isInteger(seed)) {
  console.error("--kills takes a whole number from 1 on, --seed a whole number");
  process.exit(2);
}

const began = performance.now();
const { steps, problems } = await chaosRun({
  kills,
  seed,
  onRound: (round, done) => {
    if (round % 10 === 0) console.log(`  ${round} of ${kills} kills, ${done} things done to pods`);
  },
});
console.log(`${kills} kills, ${steps} things done to pods in ${((performance.now() - began) / 1000).toFixed(0)} s`);
for (const problem of problems.slice(0, 50)) console.log(`  ${problem}`);
console.log(problems.length === 0 ? "1 passed, 0 failed" : `0 passed, 1 failed; again with: --kills ${kills} --seed ${seed}`);
process.exitCode = problems.length === 0 ? 0 : 1;
