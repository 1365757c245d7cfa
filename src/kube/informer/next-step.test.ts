import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import { firstStep, nextStep, type Outcome, type Step } from "./next-step.ts";

const retries = { backoff: { baseMs: 200, maxMs: 30_000, jitter: "equal" } } as const;
const most = (): number => 1;
const watching: Step = { next: "watch", pauseMs: 0, failures: 3 };
const error = new ApiError("Unreachable", "connection reset");

describe("after a list or watch", () => {
  test.for<[string, Step, Outcome, Step]>([
    ["a first list is followed by a watch", firstStep, { kind: "listed" }, { next: "watch", pauseMs: 0, failures: 0 }],
    ["a list proves nothing about watches", { ...watching, next: "list" }, { kind: "listed" }, { next: "watch", pauseMs: 0, failures: 3 }],
    ["an ended watch that held is resumed at once", watching, { kind: "ended", held: true }, { next: "watch", pauseMs: 0, failures: 0 }],
    [
      "one that did not hold is resumed with a pause",
      watching,
      { kind: "ended", held: false },
      { next: "watch", pauseMs: 1_600, failures: 4 },
    ],
    ["a starved watch has waited enough", watching, { kind: "starved" }, { next: "watch", pauseMs: 0, failures: 3 }],
    ["an expired version means a new list", watching, { kind: "expired", held: true }, { next: "list", pauseMs: 0, failures: 0 }],
    ["lists are not repeated without a pause", watching, { kind: "expired", held: false }, { next: "list", pauseMs: 1_600, failures: 4 }],
    [
      "a list too long for its pages is asked whole",
      firstStep,
      { kind: "list-expired" },
      { next: "list-unpaged", pauseMs: 200, failures: 1 },
    ],
    ["a failed list is listed again", firstStep, { kind: "failed", held: false, error }, { next: "list", pauseMs: 200, failures: 1 }],
    ["a failed watch is resumed", watching, { kind: "failed", held: false, error }, { next: "watch", pauseMs: 1_600, failures: 4 }],
    [
      "a connection that held starts the back-off anew",
      watching,
      { kind: "failed", held: true, error },
      { next: "watch", pauseMs: 200, failures: 1 },
    ],
  ])("%s", ([, last, outcome, wanted]) => {
    expect(nextStep(last, outcome, retries, most)).toEqual(wanted);
  });

  test("the server's own wish for a delay is kept", () => {
    const busy = new ApiError("TooManyRequests", "slow down", { retryAfterMs: 5_000 });
    expect(nextStep(firstStep, { kind: "failed", held: false, error: busy }, retries, most).pauseMs).toBe(5_000);
  });

  test("no sequence of attempts that never hold is faster than the back-off allows", () => {
    const outcome = fc.constantFrom<Outcome>(
      { kind: "listed" },
      { kind: "list-expired" },
      { kind: "ended", held: false },
      { kind: "expired", held: false },
      { kind: "failed", held: false, error },
    );
    fc.assert(
      fc.property(fc.array(outcome, { minLength: 1, maxLength: 40 }), fc.double({ min: 0, max: 0.99, noNaN: true }), (outcomes, chance) => {
        let step = firstStep;
        let attempts = 0;
        for (const each of outcomes) {
          step = nextStep(step, each, retries, () => chance);
          if (each.kind === "listed") continue;
          attempts += 1;
          expect(step.pauseMs).toBeGreaterThanOrEqual(Math.min(30_000, 200 * 2 ** (attempts - 1)) / 2);
        }
      }),
    );
  });
});
