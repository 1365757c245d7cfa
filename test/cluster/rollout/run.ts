/**
 * `make test-rollout`, or `node test/cluster/rollout/run.ts`: a rolling restart of every part under load, on the cluster of `make cluster`. Needs
 * root, and the images of `make images`. Minutes; a script and no test file, because what it finds is a table of counts, with the rate that the
 * machine could bear.
 *   --per-second N   creates a second (default 0.25)    --replicas N   pods that wait (default 20)
 *   --simulated-per-second N, --simulated-replicas N    the same on a node that is simulated (defaults 20, 3200), see simulated-node.ts
 *   --streams N      streams that stay (default 50)     --tag TAG      of the control plane's image (default: the chart's)
 *   --termination N  seconds that a gateway has to end (default 25): streams that are open then are cut
 */
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { installSdks } from "../../conformance/install.ts";
import { describedCluster } from "../system-world.ts";
import { reportOf, troubleOf } from "./report.ts";
import { rolloutRun } from "./rollout-run.ts";

const { values } = parseArgs({
  options: {
    "per-second": { type: "string", default: "0.25" },
    "simulated-per-second": { type: "string", default: "20" },
    "simulated-replicas": { type: "string", default: "3200" },
    streams: { type: "string", default: "50" },
    replicas: { type: "string", default: "20" },
    termination: { type: "string", default: "25" },
    tag: { type: "string" },
  },
});
const load = (): string => loadavg()[0]?.toFixed(1) ?? "";
await installSdks();
const result = await rolloutRun({
  cluster: await describedCluster(),
  perSecond: Number(values["per-second"]),
  simulatedPerSecond: Number(values["simulated-per-second"]),
  streams: Number(values.streams),
  replicas: Number(values.replicas),
  simulatedReplicas: Number(values["simulated-replicas"]),
  gatewayTermination: Number(values.termination),
  tag: values.tag,
  onProgress: (text) => console.error(`  ${text} … (load ${load()})`),
});
const { text, problems } = reportOf(result);
console.log(`${text}\n`);
for (const problem of problems.slice(0, 50)) console.log(`  ${problem}`);
for (const { at, what } of troubleOf(result.tally).slice(0, 50)) console.log(`    below the SDK: ${at} ${what}`);
console.log(problems.length === 0 ? "1 passed, 0 failed" : `0 passed, 1 failed (${problems.length} problems)`);
process.exitCode = problems.length === 0 ? 0 : 1;
