import { expect, test } from "vitest";
import { WaitingSets } from "./waiting-sets.ts";

const small = { namespace: "default", name: "small" };
const large = { namespace: "default", name: "large" };

test("a request that two pools could serve is counted once, and seen from both", () => {
  const sets = new WaitingSets();
  sets.add([small, large]);
  sets.add([large, small]);
  sets.add([large]);
  const both = { pools: ["default/large", "default/small"], count: 2 };
  expect(sets.at(small)).toEqual([both]);
  expect(sets.at(large)).toEqual([both, { pools: ["default/large"], count: 1 }]);
  expect(sets.all()).toHaveLength(2);
});

test("a request that has left is no longer counted, and a set without requests is forgotten", () => {
  const sets = new WaitingSets();
  const leave = sets.add([small, large]);
  sets.add([small]);
  leave();
  leave();
  expect(sets.at(large)).toEqual([]);
  expect(sets.at(small)).toEqual([{ pools: ["default/small"], count: 1 }]);
});
