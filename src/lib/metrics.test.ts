import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { prometheusMetrics, secondsBuckets } from "./metrics.ts";

test("counters, gauges and histograms are presented with their labels", async () => {
  const registry = new Registry();
  const metrics = prometheusMetrics(registry);
  const counter = metrics.counter({ name: "claims_total", help: "Claims.", labels: ["pool", "result"] });
  counter.add({ pool: "py", result: "won" });
  counter.add({ pool: "py", result: "won" }, 2);
  metrics.gauge({ name: "idle_pods", help: "Idle pods.", labels: ["pool"] }).set({ pool: "py" }, 7);
  metrics.histogram({ name: "claim_seconds", help: "Claim time.", labels: ["pool"] }).observe({ pool: "py" }, 0.0015);

  const text = await registry.metrics();
  expect(text).toContain("# HELP claims_total Claims.");
  expect(text).toContain('claims_total{pool="py",result="won"} 3');
  expect(text).toContain('idle_pods{pool="py"} 7');
  expect(text).toContain('claim_seconds_bucket{le="0.001",pool="py"} 0');
  expect(text).toContain('claim_seconds_bucket{le="0.002",pool="py"} 1');
});

test("two parts may count in one metric under their own labels", async () => {
  const registry = new Registry();
  const metrics = prometheusMetrics(registry);
  for (const queue of ["pools", "envs"]) {
    metrics.counter({ name: "adds_total", help: "Adds.", labels: ["queue"] }).add({ queue });
    metrics.gauge({ name: "depth", help: "Depth.", labels: ["queue"] }).set({ queue }, 1);
    metrics.histogram({ name: "run_seconds", help: "Run time.", labels: ["queue"] }).observe({ queue }, 1);
  }
  const text = await registry.metrics();
  for (const queue of ["pools", "envs"]) {
    expect(text).toContain(`adds_total{queue="${queue}"} 1`);
    expect(text).toContain(`depth{queue="${queue}"} 1`);
    expect(text).toContain(`run_seconds_count{queue="${queue}"} 1`);
  }
});

test("a followed gauge is read whenever somebody looks, and is gone when no longer followed", async () => {
  const registry = new Registry();
  const gauge = prometheusMetrics(registry).gauge({ name: "age_seconds", help: "Age.", labels: ["of"] });
  let age = 1;
  const unfollow = gauge.follow({ of: "lease" }, () => age);
  expect(await registry.metrics()).toContain('age_seconds{of="lease"} 1');
  age = 2;
  expect(await registry.metrics()).toContain('age_seconds{of="lease"} 2');
  unfollow();
  expect(await registry.metrics()).not.toContain("age_seconds{");
});

test("a histogram may have bounds of its own", async () => {
  const registry = new Registry();
  prometheusMetrics(registry)
    .histogram({ name: "batch_size", help: "Sizes.", labels: [], buckets: [1, 10] })
    .observe({}, 5);
  const text = await registry.metrics();
  expect(text).toContain('batch_size_bucket{le="1"} 0');
  expect(text).toContain('batch_size_bucket{le="10"} 1');
});

test("two registries in one process share nothing", async () => {
  const [one, other] = [new Registry(), new Registry()];
  prometheusMetrics(one).counter({ name: "adds_total", help: "Adds.", labels: [] }).add({});
  prometheusMetrics(other).counter({ name: "adds_total", help: "Adds.", labels: [] });
  expect(await one.metrics()).toContain("adds_total 1");
  expect(await other.metrics()).toContain("adds_total 0");
});

test("the usual buckets tell single milliseconds apart where claims happen", () => {
  const steps = secondsBuckets.filter((bound) => bound >= 0.001 && bound <= 0.005).map((bound) => Math.round(bound * 1000));
  expect(steps).toEqual([1, 2, 3, 4, 5]);
});
