import fc from "fast-check";
import { expect, test } from "vitest";

test("a property is tried on the same cases in every run, unless others are asked for", () => {
  const { AGENTBOX_PROPERTY_SEED: seed = "20261116" } = process.env;
  expect(fc.readConfigureGlobal().seed).toBe(seed === "random" ? undefined : Number(seed));
});
