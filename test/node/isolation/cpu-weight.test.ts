import { availableParallelism } from "node:os";
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { twoNeighbours } from "./sandboxes.ts";

const asking = (cpu: string) => ({ containers: [{ name: "main", image: "host", resources: { requests: { cpu } } }] });

const box = twoNeighbours({ mine: asking("1"), other: asking("250m") });

/** More than there are processors, so that each of them always has work of both. */
const busy = `for i in $(seq ${4 * availableParallelism()}); do (while :; do :; done) & done >/dev/null 2>&1`;
/** Of both together: many turns of the scheduler, however little the rest of the machine leaves to them. */
const enoughNanos = 4e9;

async function used(): Promise<readonly [mine: number, other: number]> {
  const { runtime } = box.world.node;
  return [(await runtime.usage(box.mine.uid)).cpuNanos, (await runtime.usage(box.other.uid)).cpuNanos];
}

test("who asks for four times the cpu gets several times as much when both are busy", async () => {
  await Promise.all([box.mine.says(busy), box.other.says(busy)]);
  const [mineBefore, otherBefore] = await used();
  let [mine, other] = [0, 0];
  while (mine + other < enoughNanos) {
    await wait(100);
    const [mineNow, otherNow] = await used();
    [mine, other] = [mineNow - mineBefore, otherNow - otherBefore];
  }
  const ratio = mine / other;
  expect(ratio).toBeGreaterThan(2);
  expect(ratio).toBeLessThan(8);
});
