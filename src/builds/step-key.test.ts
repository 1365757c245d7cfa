import { expect, test } from "vitest";
import { baseKey, finalKey, stepKey } from "./step-key.ts";

const base = baseKey("image sha256:1");

test("the same step on the same layers has the same key, and everything that matters changes it", () => {
  const run = { type: "RUN", args: ["make", ""] };
  const key = stepKey(base, run);
  expect(stepKey(base, { ...run, force: true })).toBe(key);
  const others = [
    stepKey(baseKey("image sha256:2"), run),
    stepKey(base, { type: "RUN", args: ["make", "root"] }),
    stepKey(base, { type: "RUN", args: ["make"] }),
    stepKey(base, { type: "ENV", args: ["make", ""] }),
    stepKey(base, { ...run, filesHash: "aa" }),
    stepKey(key, run),
    base,
  ];
  expect(new Set([key, ...others]).size).toBe(others.length + 1);
});

test("arguments that read the same when joined have different keys", () => {
  expect(stepKey(base, { type: "ENV", args: ["A", "1 B 2"] })).not.toBe(stepKey(base, { type: "ENV", args: ["A", "1", "B", "2"] }));
  expect(finalKey(base, "a", "b")).not.toBe(finalKey(base, "ab", ""));
});
