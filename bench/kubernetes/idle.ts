/** What AgentBox and everything else take of the processors while pods wait and nothing is asked. */
import { setTimeout as sleep } from "node:timers/promises";
import type { SystemWorld } from "../../test/cluster/system-world.ts";
import { table } from "../lib/measure.ts";
import { BenchPool } from "./pool.ts";
import { processorTimeReader, timeBetween } from "./processor-time.ts";

/** Daemons rehearse in their first minute, and the autoscaler and caches settle. */
const settleMs = 60_000;
const quietMs = 60_000;
/** Of AgentBox, in milliseconds of a second with 120 pods. */
const goalMs = 20;

export async function whileIdle(world: SystemWorld, pods: number): Promise<string> {
  await BenchPool.filled(world, "idle", { replicas: pods });
  await sleep(settleMs);
  const read = processorTimeReader({ agentbox: world.process.pid, client: process.pid });
  const [began, before] = [performance.now(), read()];
  await sleep(quietMs);
  const seconds = (performance.now() - began) / 1000;
  const rows = [...timeBetween(before, read())].map(([part, ms]) => ({ what: part, values: { "ms a second": (ms / seconds).toFixed(1) } }));
  const agentbox = Number(rows.find(({ what }) => what === "AgentBox")?.values["ms a second"]);
  return `${pods} pods wait, nothing is asked:\n\n${table(["ms a second"], rows)}\n\nAgentBox: ${agentbox} (goal ≤ ${goalMs} ${agentbox <= goalMs ? "✓" : "✗"})`;
}
