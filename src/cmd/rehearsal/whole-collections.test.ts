import { PerformanceObserver } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../../test/world/eventually.ts";
import { onWholeCollection } from "./whole-collections.ts";

/** Resolves when whoever follows collections has been told of the next ones. */
function observed(): Promise<void> {
  return new Promise((resolve) => {
    const observer = new PerformanceObserver(() => {
      observer.disconnect();
      setImmediate(resolve);
    });
    observer.observe({ entryTypes: ["gc"] });
  });
}

test("collections of the whole heap are told of, and those of young objects are not", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as NodeJS.GCFunction;
  setFlagsFromString("--no-expose-gc");
  let told = 0;
  onTestFinished(onWholeCollection(() => (told += 1)));
  collect({ type: "major" });
  await eventually(() => expect(told).toBeGreaterThan(0));
  // V8 may do what nobody asked for: it does not do so every time.
  await eventually(async () => {
    const before = told;
    const seen = observed();
    collect({ type: "minor" });
    await seen;
    expect(told).toBe(before);
  });
});
