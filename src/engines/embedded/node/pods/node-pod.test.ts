import { expect, test } from "vitest";
import { noEgress } from "#engines/embedded/node/network/egress.ts";
import { SteppedClock } from "../../../../../test/world/stepped-clock.ts";
import type { NodeContext } from "./node-context.ts";
import { NodePod } from "./node-pod.ts";

test("a pod that could not be thawed after a copy shows as frozen, so that it is thawed again", async () => {
  const cgroups = {
    isFrozen: () => isFrozen,
    freeze: async () => void (isFrozen = true),
    thaw: async () => Promise.reject(new Error("busy")),
  };
  let isFrozen = false;
  const context = { cgroups, clock: new SteppedClock(), paths: { pods: "/pods" } } as unknown as NodeContext;
  const slot = { ip: "10.0.0.2", index: 1 } as NodePod["slot"];
  const record = { plan: { uid: "u1", namespace: "ns", name: "p" } } as ConstructorParameters<typeof NodePod>[0]["record"];
  const pod = new NodePod({ context, record, slot, egress: noEgress, isUsed: true });
  let during: boolean | undefined;
  const held = pod.standStill(async () => {
    during = pod.state.frozen;
  });
  await expect(held).rejects.toThrow("busy");
  expect([during, pod.state.frozen]).toEqual([false, true]);
});
