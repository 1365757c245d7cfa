import fc from "fast-check";
import { expect, test } from "vitest";
import { asciiJson } from "./ascii-json.ts";

test("what is read is what was written, in ASCII alone and on one line", () => {
  fc.assert(
    fc.property(fc.record({ type: fc.string({ unit: "binary" }), text: fc.string({ unit: "grapheme" }) }), (event) => {
      const written = asciiJson(event).toString("latin1");
      expect(written).toMatch(/^[\x20-\x7e]*\n$/);
      expect(JSON.parse(written)).toEqual(event);
    }),
    { numRuns: 50 },
  );
});
