import { expect, test } from "vitest";
import { aPoolPod } from "../../../../test/world/pool-pods.ts";
import { SimulatedProcess } from "../../../../test/world/simulated-process.ts";
import { SteppedClock } from "../../../../test/world/stepped-clock.ts";
import type { Pod } from "#model/pod.ts";
import { UnreadySince } from "./unready-since.ts";

type Handler = (now: Pod | undefined, before: Pod | undefined) => void;

function bench() {
  const clock = new SteppedClock();
  const process = new SimulatedProcess(clock, 600_000);
  const unready = new UnreadySince(process);
  let tell: Handler = () => {};
  unready.follow({
    onChange: (handler: Handler) => {
      tell = handler;
      return { remove: () => {}, synced: true, whenSynced: async () => {} };
    },
  });
  return { clock, process, unready, tell: (now: Pod | undefined, before?: Pod) => tell(now, before) };
}

const unreadyPod: Pod = aPoolPod({ status: { conditions: [{ type: "Ready", status: "False" }] } });

test("a clock that is ahead makes no new pod an old one", async () => {
  const { clock, unready, tell } = bench();
  tell(unreadyPod);
  expect(unready.forMs(unreadyPod)).toBe(0);
  await clock.step(7_000);
  tell(unreadyPod);
  expect(unready.forMs(unreadyPod)).toBe(7_000);
});

test("a pod that was ready in between counts from the beginning", async () => {
  const { clock, unready, tell } = bench();
  tell(unreadyPod);
  await clock.step(7_000);
  tell(aPoolPod(), unreadyPod);
  tell(unreadyPod);
  expect(unready.forMs(unreadyPod)).toBe(0);
});

test("a clock that is set back begins anew instead of waiting for its old time", async () => {
  const { clock, process, unready, tell } = bench();
  tell(unreadyPod);
  process.setTimeOfDay(-600_000);
  expect(unready.forMs(unreadyPod)).toBe(0);
  await clock.step(1_000);
  expect(unready.forMs(unreadyPod)).toBe(1_000);
});
