/** What the embedded store is to reach, and whether a run did. */
export type Measured = ReadonlyMap<string, ReadonlyMap<string, number>>;

interface Target {
  readonly what: string;
  readonly is: (value: (subject: string, label: string) => number) => number;
  readonly bound: { readonly atMost: number } | { readonly atLeast: number };
}

const rate = "conditional patches/s, one at a time";

const targets: readonly Target[] = [
  { what: "conditional patch p50, ms", is: (value) => value("embedded", "conditional patch p50, ms"), bound: { atMost: 0.3 } },
  {
    what: "conditional patches: times the real server's rate",
    is: (value) => value("embedded", rate) / value("kube-apiserver", rate),
    bound: { atLeast: 15 },
  },
  // In the store's own process the cache shares its objects, and memory looks too good: others are looked at for this.
  ...["embedded, socket", "kube-apiserver"].map((subject): Target => ({
    what: `cached pod, KiB (${subject})`,
    is: (value) => value(subject, "bytes per cached pod") / 1024,
    bound: { atMost: 6 },
  })),
  {
    what: "informer of 10,000 pods, s (embedded, socket)",
    is: (value) => value("embedded, socket", "informer of 10,000 pods synced, ms") / 1000,
    bound: { atMost: 1 },
  },
];

/** A line for each target. One whose subjects were left out of the run is not judged. */
export function judged(measured: Measured): string[] {
  const value = (subject: string, label: string): number => measured.get(subject)?.get(label) ?? Number.NaN;
  return targets.map(({ what, is, bound }) => {
    const reached = is(value);
    const wanted = "atMost" in bound ? `at most ${bound.atMost}` : `at least ${bound.atLeast}`;
    if (Number.isNaN(reached)) return `not measured  ${what}: ${wanted}`;
    const passed = "atMost" in bound ? reached <= bound.atMost : reached >= bound.atLeast;
    return `${passed ? "pass" : "FAIL"}  ${what}: ${reached.toPrecision(3)} (target: ${wanted})`;
  });
}
