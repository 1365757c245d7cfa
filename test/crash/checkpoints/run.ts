/** `node test/crash/checkpoints/run.ts --kills 40`. Needs root. */
import { parseArgs } from "node:util";
import { killCheckpoints } from "./checkpoint-kills.ts";

const { values } = parseArgs({ options: { kills: { type: "string", default: "40" } } });
const kills = Number(values.kills);
if (!Number.isInteger(kills) || kills < 1) {
  console.error(`--kills takes a whole number from 1 on, not "${values.kills}"`);
  process.exit(2);
}

const { done, problems } = await killCheckpoints({ kills, random: Math.random, tell: (line) => console.log(`  ${line}`) });
const answered = Object.entries(done).map(([action, times]) => `${action} ${times}`);
console.log(`${kills} kills; answered before the kill: ${answered.join(", ")}`);
for (const problem of problems) console.log(`  ${problem}`);
console.log(problems.length === 0 ? "1 passed, 0 failed" : "0 passed, 1 failed");
process.exitCode = problems.length === 0 ? 0 : 1;
