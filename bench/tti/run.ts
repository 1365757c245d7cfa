/**
 * `make bench-tti`: time to interactive, from the create to a first command's output, with E2B's published SDK against `agentbox up` with real containers:
 * one after another, one every 200 ms, and all at once, as ComputeSDK measures it. Siblings: ask.ts (the program with the SDK), orders.ts (its
 * instructions), processor-time.ts (processor time by part).
 *   --count N   of each (default 100): so many places are idle when a measurement begins
 *   --burst     only those that are all begun at once
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { loadavg } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { readServerFile } from "../../src/cmd/machine/server-file.ts";
import { installSdks } from "../../test/conformance/install.ts";
import { UpProcess } from "../../test/world/up-process.ts";
import { percentile, type Row, table } from "../lib/measure.ts";
import type { Asked, Order } from "./orders.ts";
import { type ProcessorTime, processorTimeReader, timeBetween } from "./processor-time.ts";

const { values: args } = parseArgs({ options: { count: { type: "string", default: "100" }, burst: { type: "boolean", default: false } } });
const count = Number(args.count);
const patienceMs = 300_000;
/** A pool that has waited: what daemons do after their start is over. */
const restMs = 8000;
const say = (text: string): void => console.error(`  ${text} …`);

type Ran = Extract<Asked, { kind: "ran" }>;

function isRan(asked: Asked): asked is Ran {
  return asked.kind === "ran";
}

interface Measured {
  readonly asked: readonly Asked[];
  readonly time: ProcessorTime;
}

interface Facts {
  readonly apiUrl: string;
  readonly gatewayUrl: string;
  readonly apiKey: string;
}

async function factsOf(home: string): Promise<Facts> {
  const facts = await readServerFile(join(home, "run/server.json"));
  if (facts?.gatewayAddress === undefined) throw new Error("the server has no gateway");
  const apiKey = (await readFile(join(home, "keys/admin.key"), "utf8")).trim();
  return { apiUrl: facts.httpAddress, gatewayUrl: facts.gatewayAddress, apiKey };
}

function isIdle(pod: Pod): boolean {
  const isReady = pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;
  return sandboxPhaseOf(pod) === "idle" && isReady;
}

async function allIdle(up: UpProcess): Promise<void> {
  const pods = await up.podsWhen((all) => all.filter(isIdle).length >= count, patienceMs);
  if (pods.filter(isIdle).length < count)
    throw new Error(`only ${pods.filter(isIdle).length} of ${count} places are idle after ${patienceMs} ms`);
  await new Promise((resolve) => setTimeout(resolve, restMs));
}

/** From a new process each time: a program that has just been started is what a user has. */
async function ask({ apiUrl, gatewayUrl, apiKey }: Facts, order: Order): Promise<Measured> {
  const env = { ...process.env, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: gatewayUrl, E2B_API_KEY: apiKey };
  const child = fork(fileURLToPath(import.meta.resolve("./ask.ts")), { env });
  await once(child, "message");
  const used = processorTimeReader({ sdk: child.pid ?? 0, server: up.process.pid, instance: up.instance });
  const before = used();
  child.send(order);
  const [asked] = (await once(child, "message")) as [readonly Asked[]];
  const time = timeBetween(before, used());
  child.disconnect();
  return { asked, time };
}

const rows: Row[] = [];
const timeRows: Row[] = [];

function row(what: string, { asked, time }: Measured, target?: (ran: readonly number[]) => readonly [string, boolean]): void {
  const ran = asked.filter(isRan);
  const total = ran.map(({ totalMs }) => totalMs);
  const created = ran.map(({ createdMs }) => createdMs);
  const ms = (samples: readonly number[], share: number): string => percentile(samples, share).toFixed(0);
  const judged = target?.(total);
  rows.push({
    what,
    values: {
      "create p50": ms(created, 0.5),
      p50: ms(total, 0.5),
      p95: ms(total, 0.95),
      p99: ms(total, 0.99),
      max: Math.max(...total).toFixed(0),
      failed: String(asked.length - ran.length),
      target: judged === undefined ? "–" : `${judged[0]} ${judged[1] && ran.length === asked.length ? "✓" : "✗"}`,
    },
  });
  const each = Object.entries(time).map(([part, used]: [string, number]) => [part, (used / asked.length).toFixed(1)]);
  const together = Object.values(time).reduce((sum: number, used: number) => sum + used, 0) / asked.length;
  timeRows.push({ what, values: { ...Object.fromEntries(each), together: together.toFixed(1) } });
  const reasons = new Set(asked.flatMap((one) => (one.kind === "failed" ? [one.why] : [])));
  for (const why of reasons) console.error(`  ${what}: ${why}`);
}

await installSdks();
const loadBefore = loadavg()[0] ?? 0;
await using up = await UpProcess.onNewFolder(["base"]);
await up.start();
say(`a pool of ${count} real containers`);
await up.client.patch(SandboxPools, { namespace: "default", name: "base" }, { type: "merge", body: { spec: { replicas: count } } });
const facts = await factsOf(up.home);
const client = new AgentBoxClient({ url: facts.apiUrl, apiKey: facts.apiKey });

async function measured(order: Order): Promise<Measured> {
  await allIdle(up);
  const { asked, time } = await ask(facts, order);
  await Promise.all(asked.filter(isRan).map(({ sandboxId }) => client.sandboxes.end(sandboxId)));
  return { asked, time };
}

let second = "";

if (!args.burst) {
  say("one after the other");
  const sequential = await measured({ count, again: true });
  const again = sequential.asked.filter(isRan).map(({ againMs }) => againMs);
  second = `a second command in the same sandbox: p50 ${percentile(again, 0.5).toFixed(0)}; `;
  row("one after the other", sequential, (ms) => ["p50 ≤ 60", percentile(ms, 0.5) <= 60]);
  say("one every 200 ms");
  row("one every 200 ms", await measured({ count, everyMs: 200 }));
}
say("all at once");
row("all at once", await measured({ count, everyMs: 0 }), (ms) => ["all within 2000", Math.max(...ms) <= 2000]);
console.log(table(["create p50", "p50", "p95", "p99", "max", "failed", "target"], rows));
console.log(
  `\nmilliseconds from the create to the output of a first command; e2b 2.51.0, ${count} of each; ${second}load of the machine before: ${loadBefore.toFixed(1)}, after: ${(loadavg()[0] ?? 0).toFixed(1)}\n`,
);
console.log(table(["sdk", "server", "daemons", "commands", "together"], timeRows));
console.log("\nmilliseconds of a processor for each, while they were asked for");
