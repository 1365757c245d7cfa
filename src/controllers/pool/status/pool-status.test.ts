import { expect, test } from "vitest";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { PoolCounts } from "./pool-counts.ts";
import { poolStatus } from "./pool-status.ts";

const none: PoolCounts = { idle: 0, unreadyIdle: 0, starting: 0, running: 0, stopping: 0, failed: 0, unknown: 0, terminating: 0 };
const aPool = (replicas: number, more: Partial<SandboxPool> = {}): SandboxPool => ({
  metadata: { namespace: "default", name: "py", generation: 4 },
  spec: { replicas },
  ...more,
});

const phases: readonly [string, SandboxPool, Partial<PoolCounts>, string][] = [
  ["being deleted", { ...aPool(2), metadata: { name: "py", deletionTimestamp: "2026-01-01T00:00:00Z" } }, { idle: 2 }, "Terminating"],
  ["empty and wanted so", aPool(0), {}, "Pending"],
  ["too few pods", aPool(3), { idle: 1, running: 1 }, "ScalingUp"],
  ["too many pods", aPool(1), { running: 2 }, "ScalingDown"],
  ["an idle pod that is not ready", aPool(2), { idle: 2, unreadyIdle: 1 }, "Degraded"],
  ["a failed pod", aPool(2), { idle: 1, failed: 1 }, "Degraded"],
  ["all as wanted", aPool(4), { idle: 1, running: 1, starting: 1, stopping: 1 }, "Ready"],
];
test.for(phases)("a pool with %s has its phase", ([, pool, counts, phase]) => {
  expect(poolStatus(pool, { counts: { ...none, ...counts } }, "now").phase).toBe(phase);
});

test("a pool's conditions say whether a pod can be claimed, and why not", () => {
  const conditions = poolStatus(aPool(2), { counts: { ...none, idle: 2, unreadyIdle: 2 } }, "now").conditions ?? [];
  expect(conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`)).toEqual([
    "Available False NoIdlePodsAvailable",
    "Scaling False ReplicasReady",
    "Degraded True UnhealthyIdlePods",
  ]);
  expect(conditions.every((condition) => condition.observedGeneration === 4)).toBe(true);
});

test("a condition keeps its time until its status changes", () => {
  const first = poolStatus(aPool(1), { counts: { ...none, idle: 1 } }, "2026-01-01T00:00:00Z");
  const second = poolStatus(aPool(1, { status: first }), { counts: { ...none, running: 1 } }, "2026-01-01T00:01:00Z");
  const times = second.conditions?.map(({ type, lastTransitionTime }) => `${type} ${lastTransitionTime}`);
  expect(times).toEqual(["Available 2026-01-01T00:01:00Z", "Scaling 2026-01-01T00:00:00Z", "Degraded 2026-01-01T00:00:00Z"]);
});

test("a pool tells how to select its pods, all of them and by phase", () => {
  const status = poolStatus(aPool(1), { counts: none }, "now");
  expect(status.selector).toBe("agentbox.navix.sh/sandbox-pool=py");
  expect(status.labelSelector).toEqual({ matchLabels: { "agentbox.navix.sh/sandbox-pool": "py" } });
  expect(status.phaseSelectors?.["idle"]).toBe("agentbox.navix.sh/sandbox-pool=py,agentbox.navix.sh/sandbox-phase=idle");
  expect(Object.keys(status.phaseSelectors ?? {})).toEqual(["all", "idle", "starting", "running", "stopping", "failed"]);
});

test("what others keep in the status stays", () => {
  const status = { pendingRequests: 5 };
  expect(poolStatus(aPool(1, { status }), { counts: none }, "now").pendingRequests).toBe(5);
});

test("a pool that cannot make pods says why, before what else is wrong", () => {
  const trouble = { reason: "ImageUnavailable", message: "the registry does not know it" };
  const { conditions } = poolStatus(aPool(2), { counts: { ...none, idle: 1, unreadyIdle: 1 }, trouble }, "now");
  expect(conditions?.[2]).toMatchObject({ type: "Degraded", status: "True", ...trouble });
});

test("conditions of others stay where they are", () => {
  const other = { type: "Admitted", status: "True", reason: "Room", message: "", lastTransitionTime: "then" } as const;
  const { conditions } = poolStatus(aPool(1, { status: { conditions: [other] } }), { counts: none }, "now");
  expect(conditions?.map(({ type }) => type)).toEqual(["Available", "Scaling", "Degraded", "Admitted"]);
});

test("a pool says how its pods get their daemon, where nodes do not bring it", () => {
  const facts = { counts: none };
  expect(poolStatus(aPool(0), { ...facts, daemonDelivery: "InitContainer" }, "now").daemonDelivery).toBe("InitContainer");
  expect(poolStatus(aPool(0), facts, "now")).not.toHaveProperty("daemonDelivery");
});
