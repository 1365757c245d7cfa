import { expect, test } from "vitest";
import type { Activity } from "./end.ts";
import { joinedActivity, joinedSources } from "./last-active-source.ts";

const known = (inUse: boolean, lastActiveMs?: number): Activity => ({
  kind: "known",
  inUse,
  ...(lastActiveMs === undefined ? {} : { lastActiveMs }),
});

test.each<[string, readonly Activity[], Activity]>([
  ["the newest traffic that any has seen counts", [known(false, 5), known(false, 9), known(false)], known(false, 9)],
  ["W21: what is open anywhere is use", [known(false, 5), known(true, 1)], known(true, 5)],
  ["what one does not know nobody knows", [known(false, 5), { kind: "unknown" }], { kind: "unknown" }],
  ["nobody has seen any", [known(false), known(false)], known(false)],
])("%s", (_, seen, expected) => {
  expect(joinedActivity(seen)).toEqual(expected);
});

test("sources that are joined are all asked", async () => {
  const pod = { metadata: {}, spec: { containers: [] } };
  const joined = joinedSources([{ activityOf: async () => known(false, 3) }, { activityOf: async () => known(true, 4) }]);
  expect(await joined.activityOf(pod)).toEqual(known(true, 4));
});
