/** The long form of endurance.test.ts: `node test/node/endurance/run.ts --sandboxes 200`. Needs root. */
import { parseArgs } from "node:util";
import { enduranceRun, seconds } from "./endurance-run.ts";

const { values } = parseArgs({ options: { sandboxes: { type: "string", default: "200" } } });
const sandboxes = Number(values.sandboxes);
if (!Number.isInteger(sandboxes) || sandboxes < 1) {
  console.error(`--sandboxes takes a whole number from 1 on, not "${values.sandboxes}"`);
  process.exit(2);
}

const { times, problems } = await enduranceRun(sandboxes, (text) => console.log(`  ${text}`));
console.log(
  `${sandboxes} sandboxes: ready ${seconds(times.created)} (${((sandboxes / times.created) * 1000).toFixed(1)}/s), used ${seconds(times.used)}, ` +
    `deleted ${seconds(times.deleted)} (${((sandboxes / times.deleted) * 1000).toFixed(1)}/s), nothing left ${seconds(times.cleanAfter)} later`,
);
for (const problem of problems.slice(0, 50)) console.log(`  ${problem}`);
if (problems.length > 50) console.log(`  and ${problems.length - 50} more`);
console.log(problems.length === 0 ? "1 passed, 0 failed" : "0 passed, 1 failed");
process.exitCode = problems.length === 0 ? 0 : 1;
