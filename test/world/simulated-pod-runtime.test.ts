import { describe, expect, test } from "vitest";
import type { ContainerPlan } from "#engines/embedded/node/pod-runtime.ts";
import { rendered } from "./rendered-container.ts";
import { SimulatedPodRuntime } from "./simulated-pod-runtime.ts";
import { settle, SteppedClock } from "./stepped-clock.ts";

const plan: ContainerPlan = rendered({});
const slot = { uid: plan.podUid, namespace: "ns", name: "box", hostname: "box", limits: { pids: 1 } };

async function started(): Promise<{ readonly clock: SteppedClock; readonly runtime: SimulatedPodRuntime }> {
  const clock = new SteppedClock();
  const runtime = new SimulatedPodRuntime(clock);
  await runtime.ensurePod(slot);
  await runtime.createContainer(plan);
  await runtime.startContainer(plan.id);
  return { clock, runtime };
}

describe("the simulated machine", () => {
  test("shows what runs on it, and tells of ends", async () => {
    const { runtime } = await started();
    const ends: string[] = [];
    runtime.onExit((id, { code }) => ends.push(`${id} ${code}`));
    expect(await runtime.inspect(plan.podUid)).toMatchObject({ ip: "10.88.0.2", containers: [{ state: "running", attempt: 2 }] });
    runtime.exit(plan.id, { code: 3 });
    await settle();
    expect(ends).toEqual([`${plan.id} 3`]);
    expect(await runtime.inspect(plan.podUid)).toMatchObject({ containers: [{ state: "exited", exit: { code: 3 } }] });
  });

  test("takes every call twice without doing anything twice", async () => {
    const { runtime } = await started();
    await runtime.ensurePod(slot);
    await runtime.createContainer(plan);
    await runtime.startContainer(plan.id);
    expect(runtime.starts).toHaveLength(1);
    expect(runtime.violations).toEqual([]);
    await runtime.removePod(slot.uid);
    await runtime.removePod(slot.uid);
    await runtime.removeContainer(plan.id);
    expect(await runtime.list()).toEqual([]);
  });

  test("notices a second start of an attempt and a second container beside a running one", async () => {
    const { runtime } = await started();
    await runtime.createContainer({ ...plan, id: "e".repeat(64), attempt: 3 });
    await runtime.removeContainer(plan.id);
    await runtime.createContainer({ ...plan, id: "d".repeat(64) });
    await runtime.startContainer("d".repeat(64));
    expect(runtime.violations).toEqual(["main made while attempt 2 runs", "main attempt 2 made after 3", "main attempt 2 started twice"]);
  });

  test("fails when it is told to, before or after the deed", async () => {
    const { runtime } = await started();
    runtime.fail("removePod", { message: "busy" });
    await expect(runtime.removePod(slot.uid)).rejects.toThrow("busy");
    expect(runtime.present()).toHaveLength(1);
    runtime.fail("removePod", { message: "lost", when: "after" });
    await expect(runtime.removePod(slot.uid)).rejects.toThrow("lost");
    expect(runtime.present()).toHaveLength(0);
  });

  test("takes its time, and what a dead driver began is not finished", async () => {
    const { runtime, clock } = await started();
    runtime.delay("removePod", 100);
    void runtime.removePod(slot.uid);
    runtime.changeDriver();
    await clock.step(1_000);
    expect(runtime.present()).toHaveLength(1);
  });

  test("gives a free address to the next pod", async () => {
    const { runtime } = await started();
    await runtime.ensurePod({ ...slot, uid: "other" });
    await runtime.removePod(slot.uid);
    expect(await runtime.ensurePod({ ...slot, uid: "third" })).toMatchObject({ slot: 0, ip: "10.88.0.2" });
  });

  test("freezes and thaws", async () => {
    const { runtime } = await started();
    await runtime.freezePod(slot.uid);
    expect(await runtime.inspect(slot.uid)).toMatchObject({ frozen: true });
    await runtime.thawPod(slot.uid);
    expect(await runtime.inspect(slot.uid)).toMatchObject({ frozen: false });
  });
});
