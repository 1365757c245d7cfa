/** What was measured, beside the goals of the project and the floor of the same run. */
import { loadavg } from "node:os";
import { percentile, type Row, table } from "../lib/measure.ts";
import type { Answer } from "../claims/ask.ts";
import type { perEach } from "./api-writes.ts";
import type { Floor } from "./floor.ts";
import type { ProcessorTime } from "./processor-time.ts";
import type { Recycled } from "./recycling.ts";

type Writes = ReturnType<typeof perEach>;

const columns = ["p50", "p99", "all in", "× floor", "goal"];
/** Minimum number of requests per hundred claims for a row; fewer are from other activity. */
const leastShare = 0.02;

/** Of pods and of the Leases beside them. Kubelets and leaders renew Leases of their own meanwhile, one every few seconds. */
const claimWrites: ReadonlySet<string> = new Set(["PATCH pods", "POST leases", "PUT leases"]);

export class Report {
  readonly #rows: Row[] = [];
  readonly #more: string[] = [];
  readonly #processors: Row[] = [];
  #floor = Number.NaN;
  readonly #burstFloors = new Map<number, number>();
  readonly #loadBefore = loadavg();

  floor({ patch, call, both }: Floor): void {
    this.#row("floor: one PATCH of a pod", patch);
    this.#row("floor: one HTTP call to a daemon", call);
    this.#row("floor: both", both);
    this.#floor = percentile(both, 0.5);
  }

  burstFloor(count: number, tookMs: number): void {
    this.#burstFloors.set(count, tookMs);
    this.#rows.push({ what: `floor: both, ${count} at once`, values: { "all in": tookMs.toFixed(0) } });
  }

  sequential(ms: readonly number[], writes: Writes): void {
    const [p50, p99] = [percentile(ms, 0.5), percentile(ms, 0.99)];
    this.#row(`one after another, ${ms.length}`, ms, { goal: verdict("p50 ≤ 20, p99 ≤ 60", p50 <= 20 && p99 <= 60) });
    const claims = writes.filter(({ what }) => claimWrites.has(what)).reduce((sum, { share }) => sum + share, 0);
    this.#writes("Requests to write at the API server per claim", writes);
    this.#more.push(
      `One write of ours per claim (${[...claimWrites].join(", ")}): ${claims.toFixed(2)} ${verdict("≤ 1.05", claims <= 1.05)}`,
    );
  }

  ends(writes: Writes): void {
    this.#writes("The same per end, with the pod's way back to waiting", writes);
  }

  atRandom(perSecond: number, { ms, failures }: Answer): void {
    const goal = perSecond === 10 ? verdict("p50 ≤ 25", percentile(ms, 0.5) <= 25) : undefined;
    const failed = Object.values(failures).reduce((sum, count) => sum + count, 0);
    this.#row(`Poisson ${perSecond}/s, ${ms.length + failed}${failed > 0 ? ` (${failed} refused)` : ""}`, ms, { goal });
    for (const [why, count] of Object.entries(failures)) this.#more.push(`${count} × ${why}`);
  }

  burst(count: number, { ms, tookMs }: Answer): void {
    const mostMs = count === 50 ? 300 : 600;
    const goal = verdict(`all ≤ ${mostMs}`, tookMs <= mostMs && ms.length === count);
    this.#row(`burst of ${count}`, ms, { goal, tookMs, ratio: tookMs / (this.#burstFloors.get(count) ?? Number.NaN) });
  }

  freshImage(ms: readonly number[]): void {
    this.#row(`another image, on the node already, ${ms.length}`, ms, { goal: verdict("p50 ≤ 1000", percentile(ms, 0.5) <= 1000) });
  }

  recycled({ ms, restarts, isSame, waitedFor }: Recycled, times: number): void {
    const isHeld = waitedFor.includes("CrashLoopBackOff");
    this.#row(`one pod back to waiting, ${ms.length} times`, ms, {
      goal: verdict("one pod, no back-off", isSame && !isHeld && restarts === times),
    });
    this.#more.push(`Swap times of that pod, in ms: ${ms.map((took) => took.toFixed(0)).join(" ")}`);
    this.#more.push(`Seen waiting for: ${waitedFor.join(", ") || "nothing"}; ${restarts} starts of its container.`);
  }

  /** Milliseconds of a processor for each of so many. */
  processors(what: string, time: ProcessorTime, each: number): void {
    const parts = [...time].map(([part, ms]) => [part, ms / each] as const);
    const all = parts.reduce((total, [, ms]) => total + ms, 0);
    this.#processors.push({
      what,
      values: { ...Object.fromEntries(parts.map(([part, ms]) => [part, ms.toFixed(1)])), all: all.toFixed(1) },
    });
  }

  print(): void {
    const load = (loads: readonly number[]): string => loads.map((each) => each.toFixed(1)).join(" ");
    const about = `milliseconds from the HTTP request to the answer with an armed sandbox; load of the machine ${load(this.#loadBefore)} before, ${load(loadavg())} after`;
    const parts = [...new Set(this.#processors.flatMap(({ values }) => Object.keys(values)))];
    const processors = `Milliseconds of a processor for each:\n\n${table(parts, this.#processors)}`;
    console.log([table(columns, this.#rows), about, processors, ...this.#more].join("\n\n"));
  }

  #row(what: string, ms: readonly number[], { goal, tookMs, ratio }: RowOptions = {}): void {
    const p50 = percentile(ms, 0.5);
    const timesFloor = ratio ?? p50 / this.#floor;
    this.#rows.push({
      what,
      values: {
        p50: p50.toFixed(1),
        p99: percentile(ms, 0.99).toFixed(1),
        ...(tookMs === undefined ? {} : { "all in": tookMs.toFixed(0) }),
        ...(Number.isNaN(timesFloor) ? {} : { "× floor": timesFloor.toFixed(1) }),
        ...(goal === undefined ? {} : { goal }),
      },
    });
  }

  #writes(title: string, writes: Writes): void {
    const lines = writes.filter(({ share }) => share >= leastShare).map(({ what, share }) => `| ${what} | ${share.toFixed(2)} |`);
    this.#more.push([`${title}, of all clients:`, "", "| | each |", "|---|---:|", ...lines].join("\n"));
  }
}

interface RowOptions {
  readonly goal?: string | undefined;
  readonly tookMs?: number;
  /** To the floor that is its own. */
  readonly ratio?: number;
}

function verdict(goal: string, isMet: boolean): string {
  return `${goal} ${isMet ? "met" : "MISSED"}`;
}
