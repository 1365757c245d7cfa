import fc from "fast-check";
import { expect, test } from "vitest";
import { KeptSums } from "./kept-sums.ts";

test("however things come, change and go, a sum is that of the others as they are now", () => {
  const change = fc.record({
    key: fc.constantFrom("a", "b", "c"),
    amounts: fc.option(fc.record({ x: fc.nat(9), y: fc.nat(9) }, { requiredKeys: [] }), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(change), fc.constantFrom("a", "b", "new"), fc.constantFrom("x" as const, "y" as const), (changes, key, name) => {
      const sums = new KeptSums<"x" | "y">();
      const now = new Map<string, { x?: number; y?: number }>();
      for (const { key: changed, amounts } of changes) {
        sums.put(changed, amounts);
        if (amounts === undefined) now.delete(changed);
        else now.set(changed, amounts);
      }
      const others = [...now].filter(([other]) => other !== key).reduce((sum, [, amounts]) => sum + (amounts[name] ?? 0), 0);
      expect(sums.ofOthers(key, name)).toBe(others);
    }),
  );
});
