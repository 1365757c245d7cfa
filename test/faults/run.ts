/**
 * E2B's newest Python SDK makes thousands of sandboxes through a proxy that loses answers, resets connections and says 502. At the end there is exactly one
 * sandbox for each create, it is the one that the SDK was told, and none is left. The sandboxes are real.
 *
 *   node test/faults/run.ts --creates 2000 --seed 1
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import type { Sandbox } from "#client/sandbox-types.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { installPythonSdk, pythonProgram, pythonVersions } from "../conformance/install.ts";
import { UpProcess } from "../world/up-process.ts";
import { openFaultyProxy } from "./faulty-proxy.ts";
import { seededRandom } from "../world/seeded-random.ts";
import { verdictOf, type Told } from "./verdict.ts";

const { values } = parseArgs({
  options: {
    creates: { type: "string", default: "2000" },
    threads: { type: "string", default: "8" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    share: { type: "string", default: "0.35" },
  },
});
const [creates, threads, seed, share] = [values.creates, values.threads, values.seed, values.share].map(Number) as [
  number,
  number,
  number,
  number,
];
const poolSize = 12;
const [version] = pythonVersions;

await installPythonSdk(version);
await using server = await UpProcess.onNewFolder(["base"]);
await server.start();
await server.client.patch(
  SandboxPools,
  { namespace: server.namespace, name: "base" },
  { type: "merge", body: { spec: { replicas: poolSize } } },
);
const facts = await server.access();
const client = new AgentBoxClient(facts);

const proxy = await openFaultyProxy(facts.url, share, seededRandom(seed));
console.log(
  `seed ${seed}: ${creates} creates by ${threads} threads of E2B's Python SDK ${version}; ${share * 100} % of all requests are broken`,
);
const began = performance.now();
const told = await runCreates(proxy.url);
const seconds = (performance.now() - began) / 1000;

// Ends are asked for; the records follow.
await new Promise((resolve) => setTimeout(resolve, 5000));
const records: Sandbox[] = [];
for (let cursor: string | undefined; ;) {
  const page = await client.sandboxes.page({ limit: 1000, ...(cursor !== undefined && { cursor }) });
  records.push(...page.sandboxes);
  cursor = page.next;
  if (cursor === undefined) break;
}
for (const [fault, times] of proxy.done) console.log(`  ${String(times).padStart(6)}  ${fault}`);
const verdict = verdictOf(creates, told, records);
console.log(
  `${told.length} creates in ${seconds.toFixed(0)} s, ${records.length} sandboxes in the history: ` +
    `${verdict.duplicates.length} duplicates, ${verdict.lost.length} lost, ${verdict.left.length} left alive`,
);
for (const problem of [...verdict.duplicates, ...verdict.lost, ...verdict.left].slice(0, 20)) console.log(`  ${problem}`);
await proxy[Symbol.asyncDispose]();
process.exitCode = verdict.duplicates.length + verdict.lost.length + verdict.left.length === 0 ? 0 : 1;

function runCreates(url: string): Promise<readonly Told[]> {
  const env = { ...process.env, E2B_API_URL: url, E2B_SANDBOX_URL: url, E2B_API_KEY: facts.apiKey };
  const args = [join(import.meta.dirname, "creates.py"), String(creates), String(threads)];
  return new Promise((resolve, reject) => {
    execFile(pythonProgram(version), args, { env, maxBuffer: 256 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error !== null) return reject(new Error(stderr.slice(-2000), { cause: error }));
      resolve(
        stdout
          .split("\n")
          .filter(Boolean)
          .map((line) => JSON.parse(line) as Told),
      );
    });
  });
}
