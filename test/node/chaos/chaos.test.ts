import { randomInt } from "node:crypto";
import { expect, test } from "vitest";
import { chaosRun } from "./chaos-run.ts";

test(
  "a node killed again and again while pods come and go ends as the objects say, with nothing run twice and nothing left",
  { timeout: 300_000 },
  async () => {
    const seed = randomInt(2 ** 31);
    const { problems } = await chaosRun({ kills: 5, seed });
    expect({ seed, problems }).toEqual({ seed, problems: [] });
  },
);
