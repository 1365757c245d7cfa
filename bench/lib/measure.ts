/** Small tools for benchmarks: percentiles, and tables that print side by side what was measured in one run. */

export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Runs `call` n times, `parallel` at once, and gives each call's milliseconds and the rate over all. */
export async function timed(
  n: number,
  parallel: number,
  call: (i: number) => Promise<unknown>,
): Promise<{ ms: number[]; perSecond: number }> {
  const ms: number[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < n) {
      const i = next++;
      const began = performance.now();
      await call(i);
      ms.push(performance.now() - began);
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: parallel }, worker));
  return { ms, perSecond: (n / (performance.now() - began)) * 1000 };
}

/** Heap in use after a full collection; run node with --expose-gc. */
export function heapBytes(): number {
  if (globalThis.gc === undefined) throw new Error("run with: node --expose-gc");
  for (let i = 0; i < 4; i++) globalThis.gc();
  return process.memoryUsage().heapUsed;
}

export interface Row {
  readonly what: string;
  readonly values: Readonly<Record<string, string>>;
}

/** A Markdown table, one column per subject. */
export function table(subjects: readonly string[], rows: readonly Row[]): string {
  const lines = [`| | ${subjects.join(" | ")} |`, `|---|${subjects.map(() => "---:").join("|")}|`];
  for (const { what, values } of rows) lines.push(`| ${what} | ${subjects.map((name) => values[name] ?? "–").join(" | ")} |`);
  return lines.join("\n");
}
