/**
 * The commands behind `make cluster`, `make cluster-status` and `make cluster-down`; how it is done stands in
 * cluster/up.ts and its siblings.
 * Usage: node tools/cluster.ts up|status|down
 */
import { mkdirSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { FileLock } from "#engines/embedded/node/linux/file-lock.ts";
import { systemClock } from "#lib/clock.ts";
import { takeDown } from "./cluster/down.ts";
import { type ClusterDescription, clusterLayout } from "./cluster/layout.ts";
import { type ClusterStatus, lookAt } from "./cluster/status.ts";
import { bringUp } from "./cluster/up.ts";

const layout = clusterLayout();
const say = (line: string): void => console.error(line);
/** A first start builds for minutes; others wait for it. */
const lockPatienceMs = 30 * 60_000;

const commands: Readonly<Record<string, () => Promise<void>>> = {
  up: () => asRoot(() => alone(up)),
  status,
  down: () => asRoot(() => alone(down)),
};

const command = commands[process.argv[2] ?? ""];
if (command === undefined) {
  console.error("usage: node tools/cluster.ts up|status|down");
  process.exitCode = 2;
} else {
  try {
    await command();
  } catch (error) {
    console.error(`cluster: ${error instanceof Error ? error.message : String(error)}`);
    console.error(`Logs are in ${layout.logs}; 'make cluster-down' removes what is there, 'make cluster' tries again.`);
    process.exitCode = 1;
  }
}

async function up(): Promise<void> {
  const before = await lookAt(layout);
  if (before?.up !== true)
    say(before === undefined ? "Starting a Kubernetes cluster on this machine" : "Repairing the cluster on this machine");
  const began = performance.now();
  const { description, started } = await bringUp(layout, say);
  console.log(
    started === 0 ? "The cluster is already there." : `The cluster is up after ${((performance.now() - began) / 1000).toFixed(1)} s.`,
  );
  explain(description);
}

function explain({ kubeconfig, bin, registry }: ClusterDescription): void {
  console.log(`  registry: ${registry} (plain HTTP)`);
  console.log(`  to use it: export KUBECONFIG=${kubeconfig} PATH=${bin}:$PATH`);
}

async function status(): Promise<void> {
  const seen = await lookAt(layout);
  if (seen === undefined) {
    console.log("There is no cluster on this machine; 'make cluster' starts one.");
    process.exitCode = 1;
    return;
  }
  for (const line of describe(seen)) console.log(line);
  process.exitCode = seen.up ? 0 : 1;
}

function describe({ programs, nodeReady, dnsReady, pods, up: isUp }: ClusterStatus): readonly string[] {
  return [
    ...programs.map(({ name, state, pid }) => `  ${name.padEnd(24)} ${state}${pid === undefined ? "" : ` (pid ${pid})`}`),
    `  ${"node".padEnd(24)} ${nodeReady ? "ready" : "not ready"}`,
    `  ${"resolver".padEnd(24)} ${dnsReady ? "ready" : "not ready"}`,
    `  ${"pods".padEnd(24)} ${pods ?? "unknown"}`,
    isUp ? "The cluster is up." : "The cluster is not whole; 'make cluster' repairs it, 'make cluster-down' removes it.",
  ];
}

async function down(): Promise<void> {
  await takeDown(layout, say);
  rmSync(layout.lock, { force: true });
  console.log("There is no cluster on this machine any more; the built programs stay in the cache.");
}

async function asRoot(work: () => Promise<void>): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error("a node takes root: mounts, namespaces, control groups and a bridge");
  await work();
}

/** One at a time: two that repair the same cluster would start everything twice. */
async function alone(work: () => Promise<void>): Promise<void> {
  mkdirSync(dirname(layout.lock), { recursive: true });
  using lock = FileLock.tryTake(layout.lock) ?? (await lockOfAnother());
  if (lock === undefined) throw new Error(`${layout.lock} has been held by another process for ${lockPatienceMs / 60_000} minutes`);
  await work();
}

function lockOfAnother(): Promise<FileLock | undefined> {
  say("Waiting for another 'make cluster' or 'make cluster-down' to end …");
  return FileLock.take(layout.lock, systemClock, lockPatienceMs);
}
