/**
 * `make bench-size`: what a process of each part keeps of pods in memory, and whether a claim costs more when there are many. On a real
 * kube-apiserver with pods that no machine runs. Siblings: fleet.ts (the pods), full-status.ts (what kubelets say of them), part-process.ts (a
 * process whose memory can be asked).
 *   --pods N     the most (default 10000)
 *   --rounds N   of ten claims at each size (default 20)
 */
import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import { kubernetesClient } from "#engines/kubernetes/client.ts";
import { ownCrds } from "../../test/kubernetes/admin-requests.ts";
import { startKubernetes } from "../../test/kubernetes/bed.ts";
import { HttpDaemons } from "../../test/world/http-daemons.ts";
import { Asker } from "../claims/ask.ts";
import { percentile, type Row, table } from "../lib/measure.ts";
import { Fleet, type Ground, parts, poolName } from "./fleet.ts";
import type { Memory, Part } from "./part-process.ts";

const { values: args } = parseArgs({ options: { pods: { type: "string", default: "10000" }, rounds: { type: "string", default: "20" } } });
const [most, rounds] = [Number(args.pods), Number(args.rounds)];
const [small, claimsOfRound] = [10, 10];
const say = (text: string): void => console.error(`  ${text} … (load ${loadavg()[0]?.toFixed(1)})`);

type Memories = ReadonlyMap<Part, Memory>;

async function memories(fleet: Fleet): Promise<Memories> {
  await fleet.start();
  const measured = new Map<Part, Memory>();
  for (const part of parts) measured.set(part, await fleet.memory(part));
  return measured;
}

/** One round here, one there: what else the machine does happens to both. */
async function claims(fleets: readonly Fleet[]): Promise<readonly number[][]> {
  using asker = new Asker();
  const measured: number[][] = fleets.map(() => []);
  for (let round = -1; round < rounds; round++) {
    for (const [at, fleet] of fleets.entries()) {
      const access = await fleet.access();
      const { sandboxes } = new AgentBoxClient(access);
      const { ms, ids } = await asker.ask({ ...access, body: { poolName }, count: claimsOfRound, parallel: 1 });
      // The first round warms up.
      if (round >= 0) measured[at]?.push(...ms);
      await Promise.all(ids.map((id) => sandboxes.end(id)));
      await fleet.full();
    }
  }
  return measured;
}

const megabytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);

function memoryRows(by: ReadonlyMap<number, Memories>): readonly Row[] {
  const of = (part: Part, size: number): Memory => by.get(size)?.get(part) ?? { rss: Number.NaN, live: Number.NaN };
  return parts.map((part) => {
    const perPod = (of(part, most).live - of(part, 0).live) / most;
    const rss = (of(part, most).rss - of(part, 0).rss) / most;
    const sizes = [...by.keys()].map((size) => [`${size} pods`, `${megabytes(of(part, size).rss)} MB (${megabytes(of(part, size).live)})`]);
    const goal = `≤ 15 KB ${perPod <= 15 * 1024 ? "✓" : "✗"}`;
    const each = { "per pod": `${(perPod / 1024).toFixed(1)} KB`, "resident per pod": `${(rss / 1024).toFixed(1)} KB`, goal };
    return { what: part, values: { ...(Object.fromEntries(sizes) as Record<string, string>), ...each } };
  });
}

function claimRows(by: readonly number[][]): readonly Row[] {
  const [few = [], many = []] = by;
  const ratio = percentile(many, 0.5) / percentile(few, 0.5);
  const row = (what: string, ms: readonly number[]): Row => ({
    what,
    values: { p50: percentile(ms, 0.5).toFixed(1), p99: percentile(ms, 0.99).toFixed(1) },
  });
  const judged = { ...row("", many).values, ratio: `${ratio.toFixed(2)}×`, goal: `≤ 1.25× ${ratio <= 1.25 ? "✓" : "✗"}` };
  return [row(`a claim beside ${small} pods, ms`, few), { what: `a claim beside ${most} pods, ms`, values: judged }];
}

async function measure(ground: Ground): Promise<void> {
  const sizes = [0, 1_000, most].filter((size, at, all) => size <= most && all.indexOf(size) === at);
  const by = new Map<number, Memories>();
  for (const size of sizes) {
    say(`${size} pods`);
    const fleet = await Fleet.made(ground, size);
    by.set(size, await memories(fleet));
    if (size !== most) {
      await fleet[Symbol.asyncDispose]();
      continue;
    }
    await using large = fleet;
    console.log(table([...sizes.map((one) => `${one} pods`), "per pod", "resident per pod", "goal"], memoryRows(by)));
    say("claims");
    await using few = await Fleet.made(ground, small);
    await few.start();
    for (const each of [few, large]) await each.full();
    console.log(`\n${table(["p50", "p99", "ratio", "goal"], claimRows(await claims([few, large])))}`);
  }
}

await using opened = new AsyncDisposableStack();
const folder = opened.adopt(await mkdtemp(join(tmpdir(), "agentbox-size-")), (path) => rm(path, { recursive: true, force: true }));
const bed = opened.adopt(await startKubernetes({ crds: ownCrds() }), (running) => running.stop());
const client = opened.adopt(await kubernetesClient({ kubeconfig: bed.kubeconfig }), (open) => open.close());
const daemons = opened.use(await HttpDaemons.listen());
await measure({ client, kubeconfig: bed.kubeconfig, daemons, folder });
console.log(
  `\nresident memory, in brackets what is used of it after a collection; load of the machine ${loadavg()[0]?.toFixed(1)} at the end`,
);
