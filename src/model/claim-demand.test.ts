import fc from "fast-check";
import { expect, test } from "vitest";
import { formatDemand, parseDemand } from "./claim-demand.ts";

test("a demand is read as it was written; who waits nowhere says nothing", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.nat()), (counts) => {
      const waiting = Object.entries(counts).filter(([, count]) => count > 0);
      expect(new Map(parseDemand(formatDemand(new Map(Object.entries(counts)))))).toEqual(new Map(waiting));
      expect(formatDemand(new Map(waiting.toReversed()))).toBe(formatDemand(new Map(waiting)));
    }),
  );
  expect(formatDemand(new Map([["ns/py", 0]]))).toBeUndefined();
});

test("what cannot be read is no demand", () => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => [...parseDemand(text).values()].every((count) => count > 0)));
  for (const text of ["", "null", "[]", '{"ns/py":-1}', '{"ns/py":"3"}', '{"ns/py":1.5}']) expect(parseDemand(text).size).toBe(0);
});
