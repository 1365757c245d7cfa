/**
 * `make attack`: one tenant tries to exhaust the server while another one works. Real containers on this machine; all
 * traffic stays on loopback and in the sandboxes' own networks; every attack is bounded in count and time.
 * Usage: node test/attack/run.ts [--seconds 20] [--per-second 2] [--only PATTERN]
 */
import { once } from "node:events";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { RealRegistry } from "../images/real-registry.ts";
import { UpProcess } from "../world/up-process.ts";
import { attacks } from "./attacks.ts";
import { type MachineUse, machineUse } from "./machine-use.ts";
import type { AttackerOptions } from "./scene.ts";
import { type Served, workSteadily } from "./victim.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "20" },
    "per-second": { type: "string", default: "2" },
    only: { type: "string", default: "" },
  },
});
const [seconds, perSecond] = [Number(values.seconds), Number(values["per-second"])];
const pattern = new RegExp(values.only);
const wanted = attacks.map(({ name }) => name).filter((name) => pattern.test(name));
if (!(seconds > 0 && perSecond > 0) || wanted.length === 0) {
  console.error("--seconds and --per-second take numbers above 0, --only a pattern for the names of attacks");
  process.exit(2);
}

/** Pods in the pool that both tenants share. */
const replicas = 12;
/** What an admin gives one of several teams on such a machine. Without it a team may hold every pod of a shared pool. */
const sandboxesOfAttackers = 4;
/** What the issue of one tenant may cost the other. */
const goals = { leastServed: 0.8, mostTimesP99: 5, mostServerGrowthMiB: 512, mostDiskGrowthMiB: 1024 };
/** Below this the ratio of two times is noise of a machine with two cores. */
const leastP99Ms = 40;

interface Round {
  readonly name: string;
  readonly served: Served;
  readonly use: MachineUse;
  readonly got: string;
  readonly missed: readonly string[];
}

await using registry = await RealRegistry.start();
await using up = await UpProcess.onNewFolder(["base"]);
await up.start();
const pid = up.process.pid;
await up.client.patch(SandboxPools, { namespace: "default", name: "base" }, { type: "merge", body: { spec: { replicas } } });
const { url, apiKey } = await up.access();
const admin = new AgentBoxClient({ url, apiKey });
const [attackerKey, victimKey] = await Promise.all([admin.keys.create({ team: "attackers" }), admin.keys.create({ team: "workers" })]);
await up.agentbox("limits", "set", "--team", "attackers", `sandboxes=${sandboxesOfAttackers}`);
const victim = new AgentBoxClient({ url, apiKey: victimKey.key });
const attacker: AttackerOptions = { url, apiKey: attackerKey.key, registry: registry.host };

await poolIsWhole();
await workSteadily({ client: victim, perSecond, seconds: 5 });
const quiet = await workSteadily({ client: victim, perSecond, seconds });
const before = machineUse(pid, up.home);
console.log(`quiet: ${told(quiet)}; server ${before.serverMiB} MiB, disk ${before.diskMiB} MiB`);
const rounds: Round[] = [];
for (const name of wanted) rounds.push(await underAttack(name));
report();

async function underAttack(name: string): Promise<Round> {
  const thread = new Worker(new URL("attack-thread.ts", import.meta.url), { workerData: { name, options: attacker } });
  const got = once(thread, "message") as Promise<[string]>;
  const served = await workSteadily({ client: victim, perSecond, seconds });
  const use = machineUse(pid, up.home);
  thread.postMessage("stop", []);
  const round = { name, served, use, got: (await got)[0], missed: missedGoals(served, use) };
  console.log(
    `${round.missed.length === 0 ? "held" : "NOT HELD"}: ${name}: ${told(served)}; server ${use.serverMiB} MiB, disk ${use.diskMiB} MiB`,
  );
  console.log(`    the attacker: ${round.got}`);
  for (const goal of round.missed) console.log(`    missed: ${goal}`);
  await poolIsWhole();
  return round;
}

function missedGoals(served: Served, use: MachineUse): string[] {
  const share = served.served / Math.max(1, quiet.served);
  const times = served.p99 / Math.max(quiet.p99, leastP99Ms);
  return [
    ...(share >= goals.leastServed ? [] : [`${Math.round(share * 100)} % of the other tenant's creates were served (80 % wanted)`]),
    ...(times <= goals.mostTimesP99 ? [] : [`p99 of its creates is ${times.toFixed(1)} times what it was (5 wanted)`]),
    ...(isAlive(pid) ? [] : ["the server ended"]),
    ...(use.serverMiB - before.serverMiB <= goals.mostServerGrowthMiB
      ? []
      : [`the server grew by ${use.serverMiB - before.serverMiB} MiB`]),
    ...(use.diskMiB - before.diskMiB <= goals.mostDiskGrowthMiB ? [] : [`its folder grew by ${use.diskMiB - before.diskMiB} MiB`]),
  ];
}

function isAlive(process_: number): boolean {
  try {
    return process.kill(process_, 0);
  } catch {
    return false;
  }
}

/** What one attack left behind is not counted against the next. */
async function poolIsWhole(): Promise<void> {
  const isIdle = (pod: Parameters<typeof sandboxPhaseOf>[0]): boolean => sandboxPhaseOf(pod) === "idle";
  const pods = await up.podsWhen((all) => all.filter(isIdle).length >= replicas, 120_000);
  if (pods.filter(isIdle).length < replicas)
    console.log(`    the pool is not whole again after two minutes: ${pods.filter(isIdle).length} of ${replicas} idle`);
}

function told({ asked, served, p50, p99, refusals }: Served): string {
  const refused = [...refusals].map(([code, count]) => `${count} ${code}`).join(", ");
  return `${served} of ${asked} served, p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms${refused === "" ? "" : `, ${refused}`}`;
}

function report(): void {
  console.log("\n| attack | creates served | p50 ms | p99 ms | server MiB | disk MiB | held |\n|---|---:|---:|---:|---:|---:|---|");
  const row = (name: string, { asked, served, p50, p99 }: Served, use: MachineUse, held: string): string =>
    `| ${name} | ${served} of ${asked} | ${p50.toFixed(0)} | ${p99.toFixed(0)} | ${use.serverMiB} | ${use.diskMiB} | ${held} |`;
  console.log(row("none", quiet, before, ""));
  for (const { name, served, use, missed } of rounds) console.log(row(name, served, use, missed.length === 0 ? "yes" : missed.join("; ")));
  const failed = rounds.filter(({ missed }) => missed.length > 0).length;
  console.log(`${rounds.length - failed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}
