/** A process of many-runs.ts: does the runs it is told, a few seeds at a time, and says what each share came to. */
import type { Found, Share } from "./many-runs.ts";
import { plantNamed } from "./plants.ts";
import { simulate } from "./simulate.ts";

async function runShare({ from, to, steps, plant }: Share): Promise<readonly Found[]> {
  const found: Found[] = [];
  for (let seed = from; seed < to; seed++) {
    const { violation, trace } = await simulate({ seed, steps, plant: plantNamed(plant)?.plant });
    if (violation !== undefined) found.push({ seed, trace, why: `${violation.invariant}: ${violation.message}` });
  }
  return found;
}

process.on("disconnect", () => process.exit(0));
process.on("message", (share: Share) => void runShare(share).then((found) => process.send?.(found)));
