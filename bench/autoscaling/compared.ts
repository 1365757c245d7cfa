/** What is compared: each policy with the settings that trade idle pods against misses. */
import { demand, stepMode } from "./product-policies.ts";
import { buffer, fixedStock, hybridHistogram, knative, oracle, percentBuffer } from "./published-policies.ts";
import type { Load, SizingPolicy } from "./simulate.ts";

export interface Family {
  readonly name: string;
  readonly settings: readonly Setting[];
}

export interface Setting {
  readonly name: string;
  readonly make: (load: Load) => SizingPolicy;
}

export const ours = "demand";
const sizes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96];
const coverages = [80, 90, 95, 99, 99.9];

export const families: readonly Family[] = [
  family("fixed", [...sizes.slice(1), 128, 160, 200, 224, 240, 256, 288, 320, 384, 448, 512], fixedStock),
  family("buffer", sizes, buffer),
  family("buffer %", [1, 2, 5, 10, 20, 30, 50, 70, 90], percentBuffer),
  family("knative", [1, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2], knative),
  family("histogram", [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64], hybridHistogram),
  ...(["Conservative", "Default", "Aggressive"] as const).map((mode) =>
    family(mode.toLowerCase(), [1, 30, 300], (idle) => stepMode(mode, idle), "s idle"),
  ),
  { name: ours, settings: demandSettings() },
  { name: "oracle", settings: [{ name: "", make: oracle }] },
];

function family(name: string, numbers: readonly number[], make: (number: number) => SizingPolicy, unit = ""): Family {
  return { name, settings: numbers.map((number) => ({ name: `${number}${unit}`, make: () => make(number) })) };
}

/** Coverage at the default price of a miss, prices at the highest coverage, and what waits longer before it shrinks. */
function demandSettings(): readonly Setting[] {
  const one = (coveragePercent: number, emptyAfterSeconds: number, idleSeconds: number): Setting => ({
    name: `${coveragePercent} %, ${emptyAfterSeconds} s, ${idleSeconds} s`,
    make: (load) => demand(load, { coveragePercent, emptyAfterSeconds, idleSeconds }),
  });
  return [...coverages.map((coverage) => one(coverage, 600, 0)), one(99.9, 3_600, 0), one(99, 600, 60), one(99, 600, 300)];
}
