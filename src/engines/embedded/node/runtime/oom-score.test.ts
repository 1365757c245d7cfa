import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { withOomScore } from "./oom-score.ts";

test("a command has its score and its words as they are, and so does what it starts", () => {
  const [program, ...args] = withOomScore(900, ["sh", "-c", 'cat /proc/self/oom_score_adj; printf "%s;" "$@"', "sh", "a b", "$0", "'"]);
  expect(execFileSync(program, args, { encoding: "utf8" })).toBe("900\na b;$0;';");
});
