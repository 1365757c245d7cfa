import { expect, test } from "vitest";
import { labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { ExecActivity } from "./exec-activity.ts";

const podOf = (id: string): Pod => ({ metadata: { name: "p", labels: { [labelKeys.sandboxId]: id } }, spec: { containers: [] } });

test("W21: a command is use for as long as it runs, and the last one ends it", async () => {
  const clock = new SteppedClock(1000);
  const activity = new ExecActivity(clock);
  const [first, second] = [activity.begin("a"), activity.begin("a")];
  await clock.step(500);
  first();
  first();
  expect(await activity.activityOf(podOf("a"))).toEqual({ kind: "known", inUse: true, lastActiveMs: 1500 });
  await clock.step(500);
  second();
  expect(await activity.activityOf(podOf("a"))).toEqual({ kind: "known", inUse: false, lastActiveMs: 2000 });
});

test("sandboxes of before a restart count as used until then: nobody remembers whether they were", async () => {
  const clock = new SteppedClock(1000);
  const activity = new ExecActivity(clock);
  await clock.step(500);
  expect(await activity.activityOf(podOf("a"))).toEqual({ kind: "known", inUse: false, lastActiveMs: 1000 });
});
