import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { effectiveScaleDownPriority, effectiveScaleUpPriority } from "./env-member.ts";

describe("priority of a member", () => {
  test("is its own where the direction has none", () => {
    expect(effectiveScaleUpPriority({ priority: 7 })).toBe(7);
    expect(effectiveScaleDownPriority({ priority: 7 })).toBe(7);
  });

  test("is 0 where nothing is said", () => {
    expect(effectiveScaleUpPriority({})).toBe(0);
    expect(effectiveScaleDownPriority({})).toBe(0);
  });

  test("is that of the direction where there is one, even if it is 0", () => {
    const config = { priority: 7, scaleUpPriority: 0, scaleDownPriority: -3 };
    expect(effectiveScaleUpPriority(config)).toBe(0);
    expect(effectiveScaleDownPriority(config)).toBe(-3);
  });

  test("in one direction does not depend on that in the other", () => {
    const maybe = fc.option(fc.integer(), { nil: undefined });
    const config = fc.record({ priority: fc.integer(), scaleUpPriority: maybe, scaleDownPriority: maybe });
    fc.assert(
      fc.property(config, ({ priority, scaleUpPriority, scaleDownPriority }) => {
        const up = scaleUpPriority === undefined ? {} : { scaleUpPriority };
        const down = scaleDownPriority === undefined ? {} : { scaleDownPriority };
        const both = { priority, ...up, ...down };
        expect(effectiveScaleUpPriority(both)).toBe(effectiveScaleUpPriority({ priority, ...up }));
        expect(effectiveScaleDownPriority(both)).toBe(effectiveScaleDownPriority({ priority, ...down }));
      }),
    );
  });
});
