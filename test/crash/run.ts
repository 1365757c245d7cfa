/** The long form of crash.test.ts: `node test/crash/run.ts --kills 50`. */
import { parseArgs } from "node:util";
import { crashRun } from "./crash-run.ts";

const { values } = parseArgs({ options: { kills: { type: "string", default: "50" } } });
const kills = Number(values.kills);
if (!Number.isInteger(kills) || kills < 1) {
  console.error(`--kills takes a whole number from 1 on, not "${values.kills}"`);
  process.exit(2);
}

const report = await crashRun({
  kills,
  writers: 4,
  watchers: 3,
  random: Math.random,
  onRound: (round, journal) => {
    if (round % 10 === 0)
      console.log(`  ${round} of ${kills} kills, ${journal.writes} writes acknowledged, ${journal.problems.length} problems`);
  },
});
const restarts = report.restartsMs.toSorted((a, b) => a - b);
console.log(
  `${kills} kills under load, ${report.writes} acknowledged writes; restart to ready p50 ${restarts[restarts.length >> 1]?.toFixed(0)} ms`,
);
for (const problem of report.problems) console.log(`  ${problem}`);
console.log(report.problems.length === 0 ? "1 passed, 0 failed" : "0 passed, 1 failed");
process.exitCode = report.problems.length === 0 ? 0 : 1;
