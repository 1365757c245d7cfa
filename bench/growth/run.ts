/**
 * `make bench-growth`: more creates at once than pods wait, with E2B's published SDK against a fresh `agentbox up` with real containers;
 * and a create on an empty pool beside the start of one pod.
 *   --count N   creates at once (default 30)
 *   --settle    also waits until the server is back at its floor, and says how long that took (ten minutes)
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { setTimeout as pause } from "node:timers/promises";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import { poolOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { installSdks } from "../../test/conformance/install.ts";
import { isReady } from "../../test/world/pod-watch.ts";
import { UpProcess } from "../../test/world/up-process.ts";
import { percentile, type Row, table } from "../lib/measure.ts";
import type { Asked, Order } from "../tti/orders.ts";

const { values: args } = parseArgs({ options: { count: { type: "string", default: "30" }, settle: { type: "boolean", default: false } } });
const count = Number(args.count);
const emptyTries = 8;
const patienceMs = 120_000;
const settleMs = 20 * 60_000;
const namespace = "default";
const say = (text: string): void => console.error(`  ${text} …`);

await installSdks();
await using up = await UpProcess.onNewFolder();
await up.start();
const access = await up.access();
const client = new AgentBoxClient(access);
const gatewayUrl = await up.gateway();

const isIdle = (pod: Pod): boolean => sandboxPhaseOf(pod) === "idle" && isReady(pod);
const ofBase = (pods: readonly Pod[]): readonly Pod[] => pods.filter((pod) => poolOf(pod) === "base");

/** From a new process, as a user's program is. */
async function ask(order: Order): Promise<readonly Asked[]> {
  const env = { ...process.env, E2B_API_URL: access.url, E2B_SANDBOX_URL: gatewayUrl, E2B_API_KEY: access.apiKey };
  const child = fork(fileURLToPath(import.meta.resolve("../tti/ask.ts")), { env });
  await once(child, "message");
  child.send(order);
  const [asked] = (await once(child, "message")) as [readonly Asked[]];
  child.disconnect();
  return asked;
}

async function round(what: string): Promise<Row> {
  say(what);
  const waiting = ofBase(await up.pods()).filter(isIdle).length;
  const asked = await ask({ count, everyMs: 0 });
  const ran = asked.flatMap((one) => (one.kind === "ran" ? [one] : []));
  for (const why of new Set(asked.flatMap((one) => (one.kind === "failed" ? [one.why] : [])))) console.error(`  ${what}: ${why}`);
  const created = ran.map(({ createdMs }) => createdMs).sort((left, right) => left - right);
  console.log(`${what}, each in ms: ${created.map((ms) => ms.toFixed(0)).join(" ")}`);
  await Promise.all(ran.map(({ sandboxId }) => client.sandboxes.end(sandboxId)));
  const ms = (share: number): string => percentile(created, share).toFixed(0);
  const values = { waiting: String(waiting), created: `${ran.length} of ${count}`, p50: ms(0.5), p99: ms(0.99), max: ms(1) };
  return { what, values };
}

/** A pod of a pool of its own, from the write of its replicas until it is ready. */
async function podStart(name: string): Promise<number> {
  await up.client.create(SandboxPools, { metadata: { namespace, name }, spec: { ...poolSpec, replicas: 0 } });
  await pause(500);
  const began = performance.now();
  await up.client.patch(SandboxPools, { namespace, name }, { type: "merge", body: { spec: { replicas: 1 } } });
  await up.podsWhen((pods) => pods.some((pod) => poolOf(pod) === name && isReady(pod)), patienceMs);
  const took = performance.now() - began;
  await up.client.delete(SandboxPools, { namespace, name });
  return took;
}

const poolSpec = { templateName: "base", podCreationImagePolicy: "PoolDefaultImage" } as const;

/** A create from an Env that has no pod. */
async function createOnEmpty(name: string): Promise<number> {
  // Without any stock: this mode makes pods only for requests that wait.
  const scaleUpPolicy = { mode: "Conservative" as const, idleThresholdSeconds: 0 };
  const group = { name: "default", enabled: true, maxReplicas: 4, scaleUpPolicy };
  await up.client.create(SandboxEnvs, {
    metadata: { namespace, name },
    spec: {
      templateRef: { name: "base" },
      mode: "WarmPool",
      overrides: { podCreationImagePolicy: "PoolDefaultImage" },
      clusters: [{ clusterID: "local", members: [{ name, config: {} }] }],
      autoscaling: { groups: [group] },
    },
  });
  await pause(1500);
  const began = performance.now();
  const { sandbox } = await client.sandboxes.create({ poolName: name });
  const took = performance.now() - began;
  await client.sandboxes.end(sandbox.sandboxId);
  await up.client.delete(SandboxEnvs, { namespace, name });
  return took;
}

async function settled(): Promise<string> {
  say("waits until the server is back at its floor");
  const began = performance.now();
  for (let told = Number.NaN; performance.now() - began < settleMs; await pause(5000)) {
    const there = ofBase(await up.pods()).length;
    const minutes = ((performance.now() - began) / 60_000).toFixed(1);
    if (there !== told) console.error(`  ${minutes} min: ${(told = there)} pods`);
    if (there <= floor) return `back at ${floor} pods after ${minutes} min`;
  }
  return `not back at ${floor} pods after ${settleMs / 60_000} min`;
}

await up.podsWhen((pods) => ofBase(pods).filter(isIdle).length >= 3, patienceMs);
await pause(3000);
const floor = ofBase(await up.pods()).length;
const rounds = [await round("first round")];
await pause(3000);
rounds.push(await round("second round"));
await pause(5000);
say("creates on empty pools beside starts of pods");
const [starts, creates]: [number[], number[]] = [[], []];
for (let index = 0; index < emptyTries; index++) {
  starts.push(await podStart(`floor-${index}`));
  creates.push(await createOnEmpty(`empty-${index}`));
}
console.log(table(["waiting", "created", "p50", "p99", "max"], rounds));
const [start, create] = [percentile(starts, 0.5), percentile(creates, 0.5)];
const verdict = create <= 2 * start ? "✓" : "✗";
console.log(
  `\ncreate on an empty pool: p50 ${create.toFixed(0)} ms; one pod's start: p50 ${start.toFixed(0)} ms; ratio ${(create / start).toFixed(2)} (≤ 2 ${verdict})`,
);
console.log(`each, in ms: creates ${creates.map((ms) => ms.toFixed(0)).join(" ")}; starts ${starts.map((ms) => ms.toFixed(0)).join(" ")}`);
if (args.settle) console.log(await settled());
