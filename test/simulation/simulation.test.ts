import { describe, expect, test } from "vitest";
import { plants } from "./plants.ts";
import { simulate } from "./simulate.ts";
import { areClaimsOnLeases, hasEnv } from "./sort-of-run.ts";

/** In tens, so that a failing seed is found in its place and nothing runs into a time limit on a busy machine. */
const tens = Array.from({ length: 20 }, (_, ten) => ten * 10 + 1);

/** A seed says all there is to say: the trace is that of `node test/simulation/run.ts --seed <seed>`. */
async function failures(from: number, to: number): Promise<readonly string[]> {
  const found: string[] = [];
  for (let seed = from; seed <= to; seed++) {
    const { violation, trace } = await simulate({ seed });
    if (violation !== undefined) found.push(`seed ${seed}: ${violation.invariant}: ${violation.message}\n${trace}`);
  }
  return found;
}

describe("I1 to I11, and E1 to E5 of Envs, hold whatever happens between any two writes", () => {
  test.each(tens)("in ten runs from seed %i on", { timeout: 120_000 }, async (from) => {
    expect(await failures(from, from + 9)).toEqual([]);
  });
});

test("a seed is always the same run", async () => {
  for (const seed of [7, 8]) {
    const [first, second] = [await simulate({ seed, steps: 40 }), await simulate({ seed, steps: 40 })];
    expect(second.trace).toBe(first.trace);
  }
});

describe.each([
  { where: "pods", onLeases: false },
  { where: "Leases", onLeases: true },
])("a mistake in a control plane with claims on $where is found", ({ onLeases }) => {
  test.each(plants)("$name", { timeout: 120_000 }, async ({ plant, breaks, within, needsEnv = false }) => {
    for (let seed = 1; seed <= (needsEnv ? 4 : 2) * within; seed++) {
      if (areClaimsOnLeases(seed) !== onLeases || (needsEnv && !hasEnv(seed))) continue;
      const { violation } = await simulate({ seed, plant });
      if (violation === undefined) continue;
      expect(breaks).toContain(violation.invariant);
      return;
    }
    expect.fail(`not in ${within} runs`);
  });
});
