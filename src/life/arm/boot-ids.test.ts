import { expect, test } from "vitest";
import { labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { aContainerStatus, aPoolPod, pinned } from "../../../test/world/pool-pods.ts";
import { SimulatedDaemons } from "../../../test/world/simulated-daemons.ts";
import { settle, SteppedClock } from "../../../test/world/stepped-clock.ts";
import { BootIds } from "./boot-ids.ts";

const ip = "10.0.0.7";

function bench() {
  const clock = new SteppedClock();
  const daemons = new SimulatedDaemons(clock);
  const armed: string[] = [];
  const onArmed = ({ metadata: { name = "" } }: Pod): void => void armed.push(name);
  const bootIds = new BootIds({ daemons, clock, random: () => 0.5, onArmed });
  return { clock, daemons, bootIds, armed, asked: () => daemons.calls.length };
}

/** The same pod with another container. */
function restarted(pod: Pod): Pod {
  const containerStatuses = [aContainerStatus("main", pinned("idle"), { restartCount: 1 })];
  return { ...pod, status: { ...pod.status, containerStatuses } };
}

test("the daemon of a pod is asked once when it becomes idle, and not at its further changes", async () => {
  const { daemons, bootIds, asked } = bench();
  const { bootId } = daemons.boot(ip, "uid-1");
  const pod = aPoolPod();
  bootIds.observe(pod, undefined);
  await settle();
  bootIds.observe({ ...pod, metadata: { ...pod.metadata, resourceVersion: "101" } }, pod);
  await settle();
  expect([bootIds.of(pod), asked()]).toEqual([bootId, 1]);
});

test("another container is another boot", async () => {
  const { daemons, bootIds } = bench();
  daemons.boot(ip, "uid-1");
  const pod = aPoolPod();
  bootIds.observe(pod, undefined);
  await settle();
  const { bootId } = daemons.boot(ip, "uid-1");
  expect(bootIds.of(restarted(pod)), "nobody has asked the new one yet").toBeUndefined();
  bootIds.observe(restarted(pod), pod);
  await settle();
  expect(bootIds.of(restarted(pod))).toBe(bootId);
});

test("what another pod at the same address says does not count", async () => {
  const { daemons, bootIds } = bench();
  daemons.boot(ip, "uid-of-another");
  bootIds.observe(aPoolPod(), undefined);
  await settle();
  expect(bootIds.of(aPoolPod())).toBeUndefined();
  expect(await bootIds.find(aPoolPod(), new AbortController().signal)).toBeUndefined();
});

test("a daemon that is silent is asked a few times more, and then left alone", async () => {
  const { clock, daemons, bootIds, asked } = bench();
  bootIds.observe(aPoolPod(), undefined);
  await clock.step(60_000);
  const tries = asked();
  expect(tries).toBeGreaterThan(3);
  await clock.step(600_000);
  expect([asked(), clock.pending]).toEqual([tries, 0]);
  const { bootId } = daemons.boot(ip, "uid-1");
  expect(await bootIds.find(aPoolPod(), new AbortController().signal), "who needs it asks himself").toBe(bootId);
});

test("a pod that is claimed or gone is forgotten, and asked no more", async () => {
  const { clock, bootIds, asked } = bench();
  const pod = aPoolPod();
  bootIds.observe(pod, undefined);
  await settle();
  const claimed = aPoolPod({ phase: "running", id: "i1", labels: { [labelKeys.team]: "red" } });
  bootIds.observe(claimed, pod);
  await clock.step(60_000);
  expect([asked(), clock.pending]).toEqual([1, 0]);
});

test("many pods at once are asked a few at a time", async () => {
  const { clock, daemons, bootIds, asked } = bench();
  daemons.delayMs = 100;
  for (let number = 0; number < 100; number++) {
    bootIds.observe(aPoolPod({ metadata: { uid: `uid-${number}`, name: `py-${number}` } }), undefined);
  }
  await settle();
  expect(asked()).toBe(16);
  await bootIds.stop();
  expect(clock.pending, "its end leaves nothing behind").toBeLessThanOrEqual(16);
});

test("a pod that only looks idle is told of", async () => {
  const { daemons, bootIds, armed } = bench();
  const daemon = daemons.boot(ip, "uid-1");
  daemon.armed = { podUid: "uid-1", bootId: daemon.bootId, sandboxId: "ended", body: {} };
  bootIds.observe(aPoolPod(), undefined);
  await settle();
  expect(armed).toEqual(["py-1"]);
});
