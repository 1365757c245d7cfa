/**
 * `make bench-node`: real sandboxes on this machine beside plain runc with the same specification, in one run. Siblings:
 * scenarios.ts (what is measured), plain-runc.ts (the floor), health.ts (asks daemons).
 *   --samples N           one after another, and at once (default 20)
 *   --refill N            pods of the pool that is scaled from nothing (default 40)
 *   --memory N,N          sandboxes with which memory is measured (default 1,50,200)
 * Needs root. The node's own work and that of this program share the cores, as they do in the product.
 */
import { parseArgs } from "node:util";
import type { ContainerPlan } from "#engines/embedded/node/pod-runtime.ts";
import { instanceOf } from "../../src/cmd/machine/embedded-node.ts";
import { tracesOf } from "../../test/world/machine-traces.ts";
import { PodWatch } from "../../test/world/pod-watch.ts";
import { type RealNode, startRealNode } from "../../test/world/real-node.ts";
import { percentile, type Row, table } from "../lib/measure.ts";
import { PlainRunc } from "./plain-runc.ts";
import {
  type Bench,
  createPod,
  deletePod,
  floorAtOnce,
  floorRun,
  freezeAndThaw,
  makePool,
  memory,
  reset,
  scalePool,
  swap,
} from "./scenarios.ts";

const { values: args } = parseArgs({
  options: {
    samples: { type: "string", default: "20" },
    refill: { type: "string", default: "40" },
    memory: { type: "string", default: "1,50,200" },
  },
});
const samples = Number(args.samples);
const refill = Number(args.refill);
const sizes = args.memory.split(",").map(Number);

const settledAfterMs = 8000;

const rows: Row[] = [];
const say = (text: string): void => console.error(`  ${text} …`);
const ms = (value: number): string => value.toFixed(value < 10 ? 2 : 0);
const median = (values: readonly number[]): number => percentile(values, 0.5);

function row(
  what: string,
  measured: string,
  beside?: { readonly floor?: string; readonly ratio?: number; readonly target: string; readonly met: boolean },
): void {
  const { floor, ratio, target, met } = beside ?? {};
  rows.push({
    what,
    values: {
      measured,
      floor: floor ?? "–",
      ratio: ratio === undefined ? "–" : `${ratio.toFixed(2)}×`,
      target: target === undefined ? "–" : `${target} ${met === true ? "✓" : "✗"}`,
    },
  });
}

await using world = await startRealNode({ pools: true });
await using watch = new PodWatch(world.store);
const bench: Bench = { world, watch };
say("first sandbox, and its specification for the floor");
const plan = await planOfFirst(world);
await using floor = await PlainRunc.open(plan);
await floorRun(floor, 2);
await oneByOne();
await atOnce();
await pools();
report();

/** What the agent asks the runtime for: the floor is given the same. */
async function planOfFirst({ node: { runtime } }: RealNode): Promise<ContainerPlan> {
  const create = runtime.createContainer.bind(runtime);
  const plans: ContainerPlan[] = [];
  runtime.createContainer = (one) => {
    plans.push(one);
    return create(one);
  };
  await createPod(bench, "first", 2);
  runtime.createContainer = create;
  const [found] = plans;
  if (found === undefined) throw new Error("the agent has made no container");
  return found;
}

/** One of ours and one by hand in turn, so that whatever else the machine does hits both. */
async function oneByOne(): Promise<void> {
  say(`${samples} one after another`);
  const own = { answers: [] as number[], ready: [] as number[], removed: [] as number[] };
  const byHand = { run: [] as number[], answers: [] as number[] };
  for (let i = 0; i < samples; i++) {
    const { run, answers } = await floorRun(floor, 2);
    byHand.run.push(run);
    byHand.answers.push(answers);
    const start = await createPod(bench, `one-${i}`, 2);
    own.answers.push(start.answers);
    own.ready.push(start.ready);
    own.removed.push(await deletePod(bench, `one-${i}`));
  }
  row("plain `runc run`, ms", ms(median(byHand.run)));
  row("plain `runc run` → daemon answers, ms", ms(median(byHand.answers)));
  const ratio = median(own.answers) / median(byHand.answers);
  row("pod create → daemon answers, ms", `${ms(median(own.answers))} (p95 ${ms(percentile(own.answers, 0.95))})`, {
    floor: ms(median(byHand.answers)),
    ratio,
    target: "≤ 1.5×",
    met: ratio <= 1.5,
  });
  row("pod create → Ready, ms", `${ms(median(own.ready))} (p95 ${ms(percentile(own.ready, 0.95))})`);
  row("pod delete → gone, ms", `${ms(median(own.removed))} (p95 ${ms(percentile(own.removed, 0.95))})`);
  await swapsAndFreezes();
}

async function swapsAndFreezes(): Promise<void> {
  say("swaps, freezes");
  const digest = plan.image.digest;
  const swaps: number[] = [];
  for (let i = 0; i < samples; i++) swaps.push(await swap(bench, "first", `host:latest-u${i + 1}@${digest}`));
  const swapped = median(swaps);
  row("swap of the image in place → daemon answers, ms", `${ms(swapped)} (p95 ${ms(percentile(swaps, 0.95))})`, {
    floor: "1000 (kubelet)",
    ratio: 1000 / swapped,
    target: "≥ 4×",
    met: swapped <= 250,
  });
  for (const [what, values] of Object.entries(await freezeAndThaw(bench, "first"))) {
    row(`${what}, ms`, ms(median(values)), { target: "≤ 2", met: median(values) <= 2 });
  }
}

async function atOnce(): Promise<void> {
  say(`${samples} at once`);
  const byHand = await floorAtOnce(floor, samples);
  const began = performance.now();
  const starts = await Promise.all(Array.from({ length: samples }, (_, i) => createPod(bench, `many-${i}`, 10)));
  const all = performance.now() - began;
  const lastAnswer = Math.max(...starts.map(({ answers }) => answers));
  const ratio = lastAnswer / byHand;
  row(`${samples} pods at once → last daemon answers, ms`, ms(lastAnswer), {
    floor: ms(byHand),
    ratio,
    target: "≤ 1.5×",
    met: ratio <= 1.5,
  });
  row(`${samples} pods at once → all Ready, ms`, ms(all));
  const gone = performance.now();
  await Promise.all(starts.map((_, i) => deletePod(bench, `many-${i}`)));
  row(`${samples} pods deleted at once, ms`, ms(performance.now() - gone));
}

async function pools(): Promise<void> {
  say(`a pool of ${refill}`);
  await makePool(bench);
  const one = await scalePool(bench, 1);
  const resets: number[] = [];
  for (let i = 0; i < samples; i++) resets.push(await reset(bench));
  const created = rows.find(({ what }) => what.startsWith("pod create → Ready"))?.values["measured"] ?? "";
  const ratio = median(resets) / Number.parseFloat(created);
  row("first pod of a pool, ms", ms(one));
  row("reset: delete → the next one is Ready, ms", `${ms(median(resets))} (p95 ${ms(percentile(resets, 0.95))})`, {
    floor: created,
    ratio,
    target: "≤ 1.5×",
    met: ratio <= 1.5,
  });
  await scalePool(bench, 0);
  await deletePod(bench, "first");
  const rate = (refill / (await scalePool(bench, refill))) * 1000;
  row(`refill of ${refill}, pods/s`, rate.toFixed(1), { floor: "5 (kubelet)", ratio: rate / 5, target: "≥ 10/s and 2×", met: rate >= 10 });
  for (const size of sizes) await memoryAt(size);
}

async function memoryAt(sandboxes: number): Promise<void> {
  say(`memory of ${sandboxes}`);
  await scalePool(bench, sandboxes);
  // Daemons collect what their start and their rehearsal left when those are over.
  await new Promise((resolve) => setTimeout(resolve, settledAfterMs));
  const pids = tracesOf(instanceOf(world.home), world.home).processes.map((line) => line.split(" ")[0] ?? "");
  const { privateDirty, pss } = memory(pids, sandboxes);
  const mb = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);
  row(`private memory each, ${sandboxes} idle, MB`, mb(privateDirty), { target: "≤ 12", met: privateDirty <= 12 * 2 ** 20 });
  row(`PSS each, ${sandboxes} idle, MB`, mb(pss));
}

function report(): void {
  console.log(table(["measured", "floor", "ratio", "target"], rows));
}
