/**
 * Numbers about ourselves, as a dependency: code that counts takes a `Metrics`; the composition root passes one over a
 * registry of its own, so that two servers in one process do not share counters. Names and labels follow Prometheus;
 * times are in seconds.
 */
import { Counter as PromCounter, Gauge as PromGauge, Histogram as PromHistogram, type Registry } from "prom-client";

export interface Metrics {
  /** Asked twice for one name, each of these gives the same metric: several parts may count in it under their own labels. */
  counter<L extends string>(about: MetricAbout<L>): Counter<L>;
  gauge<L extends string>(about: MetricAbout<L>): Gauge<L>;
  histogram<L extends string>(about: HistogramAbout<L>): Histogram<L>;
}

export interface MetricAbout<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly L[];
}

export interface HistogramAbout<L extends string> extends MetricAbout<L> {
  /** Upper bounds; `secondsBuckets` when left out. */
  readonly buckets?: readonly number[];
}

export type Labels<L extends string> = Readonly<Record<L, string>>;

export interface Counter<L extends string> {
  add(labels: Labels<L>, by?: number): void;
}

export interface Gauge<L extends string> {
  set(labels: Labels<L>, value: number): void;
  /** For what changes by itself, such as an age: `read` runs at each collection, until the returned function is called. */
  follow(labels: Labels<L>, read: () => number): () => void;
}

export interface Histogram<L extends string> {
  observe(labels: Labels<L>, value: number): void;
}

/** Claims take single milliseconds and queue waits can take minutes: fine steps below 5 ms, coarse ones above. */
export const secondsBuckets: readonly number[] = [
  0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60,
];

/** Metrics that `registry` presents to Prometheus. */
export function prometheusMetrics(registry: Registry): Metrics {
  const counters = new Map<string, PromCounter>();
  const gauges = new Map<string, Gauge<string>>();
  const histograms = new Map<string, PromHistogram>();
  const common = (about: MetricAbout<string>) => ({
    name: about.name,
    help: about.help,
    labelNames: [...about.labels],
    registers: [registry],
  });
  return {
    counter: (about) => {
      const counter = getOrMake(counters, about.name, () => new PromCounter(common(about)));
      return { add: (labels, by = 1) => counter.inc(labels, by) };
    },
    gauge: (about) => getOrMake(gauges, about.name, () => prometheusGauge(common(about))),
    histogram: (about) => {
      const buckets = [...(about.buckets ?? secondsBuckets)];
      const histogram = getOrMake(histograms, about.name, () => new PromHistogram({ ...common(about), buckets }));
      return { observe: (labels, value) => histogram.observe(labels, value) };
    },
  };
}

function prometheusGauge(common: { name: string; help: string; labelNames: string[]; registers: Registry[] }): Gauge<string> {
  const followed = new Set<() => void>();
  const gauge = new PromGauge({
    ...common,
    collect: () => {
      for (const refresh of followed) refresh();
    },
  });
  return {
    set: (labels, value) => gauge.set(labels, value),
    follow: (labels, read) => {
      const refresh = (): void => gauge.set(labels, read());
      followed.add(refresh);
      return () => {
        followed.delete(refresh);
        gauge.remove(labels);
      };
    },
  };
}

function getOrMake<T>(made: Map<string, T>, name: string, make: () => T): T {
  const there = made.get(name);
  if (there !== undefined) return there;
  const fresh = make();
  made.set(name, fresh);
  return fresh;
}
