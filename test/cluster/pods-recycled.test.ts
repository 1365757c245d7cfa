/** A pod that is used again and again on the real kubelet: each use a new container, at once, and never a pause for having been there before. */
import { expect, test } from "vitest";
import { push, until } from "./cluster-under-test.ts";
import { RenderedPods } from "./pods-rendered.ts";

const uses = Number(process.env["AGENTBOX_RECYCLINGS"] ?? 8);

test(`a pod is recycled ${uses} times without a pause, between the same two images`, { timeout: 60_000 + uses * 20_000 }, async () => {
  const pods = await RenderedPods.open();
  const images = await Promise.all([
    push({ name: "tests/one:1", files: { one: "1" } }),
    push({ name: "tests/two:1", files: { two: "2" } }),
  ]);
  const made = await pods.create({ image: images[0], delivery: "image-volume" });
  let pod = await pods.ready(made);
  const answered: number[] = [];
  const reported: number[] = [];
  for (let use = 1; use <= uses; use++) {
    const { bootId } = await pods.health(pod);
    const before = pod.status?.containerStatuses?.[0]?.containerID;
    const begin = performance.now();
    await pods.swap(pod, images[use % 2] ?? "", use);
    // The daemon is asked itself: it answers before its kubelet knows of it.
    await until(async () => expect((await pods.health(pod)).bootId).not.toBe(bootId));
    answered.push(Math.round(performance.now() - begin));
    pod = await pods.ready(pod, ({ status }) => {
      expect(status?.containerStatuses?.[0]?.state?.waiting?.reason).not.toBe("CrashLoopBackOff");
      return status?.containerStatuses?.[0]?.containerID !== before;
    });
    reported.push(Math.round(performance.now() - begin));
  }
  console.log(`new daemon answers after ${summary(answered)} ms; kubelet reports it ready after ${summary(reported)} ms`);
  expect(pod.status?.containerStatuses?.[0]?.restartCount).toBe(uses);
});

function summary(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return `${at(0)} / ${at(0.5)} / ${at(0.9)} / ${at(1)} (least, median, 90 %, most)`;
}
