import fc from "fast-check";
import { expect, test } from "vitest";
import type { ProbeVerdict } from "../plan/observed.ts";
import { newTally, withAnswer } from "./tally.ts";

const probe = { timeoutSeconds: 1, periodSeconds: 1, successThreshold: 2, failureThreshold: 3 };

function verdictAfter(answers: readonly ProbeVerdict[], initial?: ProbeVerdict): ProbeVerdict | undefined {
  return answers.reduce((tally, answer) => withAnswer(tally, answer, probe), newTally(initial)).verdict;
}

test("nothing is believed until as many answers in a row as the threshold say the same", () => {
  expect(verdictAfter(["success"])).toBeUndefined();
  expect(verdictAfter(["success", "success"])).toBe("success");
  expect(verdictAfter(["failure", "failure"])).toBeUndefined();
  expect(verdictAfter(["failure", "failure", "failure"])).toBe("failure");
});

test("one other answer in between starts the count anew, and what was believed stays", () => {
  expect(verdictAfter(["failure", "failure", "success", "failure", "failure"], "success")).toBe("success");
});

test("the verdict is always that of the last run of answers that was long enough", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom<ProbeVerdict>("success", "failure")), (answers) => {
      const runs = answers.map((answer, index) => {
        let length = 1;
        while (answers[index - length] === answer) length += 1;
        return { answer, isEnough: length >= (answer === "success" ? 2 : 3) };
      });
      expect(verdictAfter(answers)).toBe(runs.findLast(({ isEnough }) => isEnough)?.answer);
    }),
  );
});
