/**
 * `make bench-objects`: the embedded store beside a real API server, in one run on one machine.
 *   --only NAME,NAME   some of the subjects (embedded, fsync, socket, kubernetes)
 *   --objects N        objects at start-up (default 100000)
 */
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { table, type Row } from "../lib/measure.ts";
import { judged } from "./targets.ts";
import { conditionalPatches, fanOut, fillMaps, fillPods, informer } from "./scenarios.ts";
import { embedded, embeddedOverSocket, embeddedWithFsync, kubernetes, type Subject } from "./subjects.ts";

// Bytes per pod are measured after a full collection; start again with the flag that allows it.
if (globalThis.gc === undefined) {
  const again = spawnSync(process.execPath, ["--expose-gc", ...process.argv.slice(1)], { stdio: "inherit" });
  process.exit(again.status ?? 1);
}

const { values: args } = parseArgs({
  options: { only: { type: "string", default: "embedded,fsync,socket,kubernetes" }, objects: { type: "string", default: "100000" } },
});
const starters: Record<string, () => Promise<Subject>> = { embedded, fsync: embeddedWithFsync, socket: embeddedOverSocket, kubernetes };
const objects = Number(args.objects);
const podCount = 10_000;

const measured = new Map<string, Map<string, number>>();
for (const name of args.only.split(",")) {
  const start = starters[name];
  if (start === undefined) throw new Error(`--only takes ${Object.keys(starters).join(", ")}; not "${name}"`);
  const subject = await start();
  try {
    measured.set(subject.name, await measure(subject));
  } finally {
    await subject.stop();
  }
}
report();

async function measure(subject: Subject): Promise<Map<string, number>> {
  const { client } = subject;
  const own = new Map<string, number>();
  const real = subject.name === "kube-apiserver";
  const say = (text: string): void => console.error(`  ${subject.name}: ${text}`);

  say(`${podCount} pods …`);
  own.set("writes/s, 32 at once", await fillPods(client, 0, podCount));
  say("conditional patches …");
  await conditionalPatches(client, 200, 1);
  const one = await conditionalPatches(client, real ? 1000 : 5000, 1);
  own.set("conditional patch p50, ms", one.p50);
  own.set("conditional patch p99, ms", one.p99);
  own.set("conditional patches/s, one at a time", one.perSecond);
  own.set("conditional patches/s, 16 at once", (await conditionalPatches(client, real ? 3000 : 10_000, 16)).perSecond);
  say("fan-out …");
  const fan = await fanOut(client, 10, real ? 1000 : 3000);
  own.set("write → last of 10 watchers p50, ms", fan.lastP50);
  own.set("events/s to 10 watchers", fan.eventsPerSecond);
  say("informer …");
  const { syncMs, bytesPerPod, pods } = await informer(client);
  if (pods !== podCount) throw new Error(`the informer has ${pods} of ${podCount} pods`);
  own.set("informer of 10,000 pods synced, ms", syncMs);
  own.set("bytes per cached pod", bytesPerPod);
  say(`${objects} objects and a restart …`);
  await fillMaps(client, objects - podCount);
  const began = performance.now();
  await subject.restart();
  own.set(`start-up with ${objects} objects, ms`, performance.now() - began);
  return own;
}

function report(): void {
  const subjects = [...measured.keys()];
  const labels = [...(measured.values().next().value?.keys() ?? [])];
  const digits = (value: number) => (value >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(3));
  const rows: Row[] = labels.map((what) => ({
    what,
    values: Object.fromEntries(subjects.map((name) => [name, digits(measured.get(name)?.get(what) ?? Number.NaN)])),
  }));
  console.log(table(subjects, rows));
  console.log(`\n${judged(measured).join("\n")}`);
}
