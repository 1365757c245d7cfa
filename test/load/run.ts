/** `node test/load/run.ts --users 50 --minutes 10 --kill-every 20 --replicas 60`. Needs root. */
import { parseArgs } from "node:util";
import { loadRun } from "./load-run.ts";

const { values } = parseArgs({
  options: {
    users: { type: "string", default: "50" },
    minutes: { type: "string", default: "10" },
    "kill-every": { type: "string", default: "20" },
    replicas: { type: "string", default: "60" },
  },
});
const [users, minutes, killEverySeconds, replicas] = [values.users, values.minutes, values["kill-every"], values.replicas].map(Number);
if (![users, minutes, killEverySeconds, replicas].every((number) => number !== undefined && number > 0)) {
  console.error("--users, --minutes, --kill-every (seconds) and --replicas take numbers above 0");
  process.exit(2);
}
const { told, kills, problems } = await loadRun({
  users: users ?? 0,
  seconds: (minutes ?? 0) * 60,
  killEverySeconds: killEverySeconds ?? 0,
  replicas: replicas ?? 0,
  onProgress: (text) => console.log(`  ${text}`),
});
const refused = [...told.failed].map(([code, count]) => `${count} ${code}`).join(", ");
console.log(
  `${kills} kills; ${told.given.size} sandboxes given and ${told.ended} ended; refused: ${refused === "" ? "none" : refused}; ${told.repeated} calls repeated`,
);
for (const problem of problems.slice(0, 50)) console.log(`  ${problem}`);
console.log(problems.length === 0 ? "1 passed, 0 failed" : `0 passed, 1 failed (${problems.length} problems)`);
process.exitCode = problems.length === 0 ? 0 : 1;
