import fc from "fast-check";
import { expect, test } from "vitest";
import type { Pod, PodSpec, ResourceRequirements } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { SteppedClock } from "../../test/world/stepped-clock.ts";
import { clusterCapacity, clusterRoom, type Machine, machineCapacity, machineRoom, usualCapacity } from "./capacity.ts";
import { MachineUse } from "./machine-use.ts";

const gib = 2 ** 30;
const machine: Machine = { cpuMilli: 2000, memoryBytes: 24 * gib, diskBytes: 60 * gib };
const { signal } = new AbortController();

function aPool(name: string, replicas: number, resources: ResourceRequirements = {}): SandboxPool {
  return {
    metadata: { namespace: "default", name },
    spec: { replicas, template: { spec: { containers: [{ name: "main", resources }] } } },
  };
}

const base = { limits: { cpu: "1", memory: "512Mi", "ephemeral-storage": "1Gi" }, requests: { cpu: "50m", memory: "32Mi" } };
const specOf = ({ spec }: SandboxPool): PodSpec | undefined => spec.template?.spec;

function deps(...pools: readonly SandboxPool[]) {
  const use = new MachineUse({ specOf, limitDivisor: usualCapacity.limitDivisor });
  for (const pool of pools) use.observe(pool, undefined);
  const replicasNow = ({ metadata }: SandboxPool): number => pools.find((pool) => pool.metadata.name === metadata.name)?.spec.replicas ?? 0;
  return { machine: () => machine, settings: usualCapacity, use, replicasNow };
}

test("200 pods of the first template fit on two cores and 24 GiB", () => {
  const room = machineRoom(deps(), aPool("base", 0, base));
  expect(room).toEqual({
    pods: 200,
    because: "the machine has room for 200 pods of this pool beside the other pools: cpu is short, 0.05 cores each",
  });
});

test("what other pools want, or have beyond that, is not there for this one", () => {
  const other = { ...aPool("other", 50, base), status: { replicas: 60 } };
  expect(machineRoom(deps(other, aPool("base", 7, base)), aPool("base", 0, base)).pods).toBe(140);
});

test("a refusal tells of the pool itself only, and not how much other pools hold together", () => {
  const text = (...others: readonly SandboxPool[]): string => machineRoom(deps(...others), aPool("base", 0, base)).because;
  // Two mixtures of other pools that leave room for as many pods.
  expect(text(aPool("one", 50, base), aPool("two", 10, base))).toBe(text(aPool("other", 60, base)));
  expect(text(aPool("other", 60, base)).match(/\d+(\.\d+)?/g)).toEqual(["140", "0.05"]);
});

test("a pod without requests counts for a part of its limits, and one that says nothing for what an idle one costs", () => {
  expect(machineRoom(deps(), aPool("x", 0, { limits: { memory: "4Gi" } })).pods).toBe(21);
  expect(machineRoom(deps(), aPool("x", 0)).pods).toBe(691);
});

test("growth beyond the room is refused with what fits; what is there stays, also when it is too much", async () => {
  const plugin = machineCapacity(deps(aPool("base", 250, base)));
  expect(await plugin.preUpdatePool?.(aPool("base", 250, base), signal)).toMatchObject({ object: {} });
  expect(await plugin.preUpdatePool?.(aPool("base", 251, base), signal)).toMatchObject({
    refusal: { kind: "InsufficientResources", wouldFit: 250 },
  });
  const smaller = machineCapacity(deps(aPool("base", 3, base)));
  expect(await smaller.preUpdatePool?.(aPool("base", 200, base), signal)).toMatchObject({ object: {} });
  expect(await smaller.preUpdatePool?.(aPool("base", 201, base), signal)).toMatchObject({
    refusal: { wouldFit: 200, retryAfterMs: 10_000 },
  });
});

test("pools that grow as far as they may never request more than the room", async () => {
  const sizes = fc.record({ cpu: fc.integer({ min: 10, max: 3000 }), memory: fc.integer({ min: 32, max: 9000 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(sizes, fc.nat(300)), { minLength: 1, maxLength: 5 }), async (wishes) => {
      const pools: SandboxPool[] = [];
      for (const [index, [{ cpu, memory }, wanted]] of wishes.entries()) {
        const empty = aPool(`p${index}`, 0, { requests: { cpu: `${cpu}m`, memory: `${memory}Mi` } });
        const { pods } = machineRoom(deps(...pools), empty);
        pools.push({ ...empty, spec: { ...empty.spec, replicas: Math.min(pods, wanted) } });
      }
      const cpu = pools.reduce((sum, { spec }, index) => sum + spec.replicas * (wishes[index]?.[0].cpu ?? 0), 0);
      const memory = pools.reduce((sum, { spec }, index) => sum + spec.replicas * (wishes[index]?.[0].memory ?? 0), 0);
      expect(cpu).toBeLessThanOrEqual(10_000);
      expect(memory).toBeLessThanOrEqual(24 * 1024 * 0.9);
    }),
  );
});

function waiting(name: string, since: string): Pod {
  const condition = {
    type: "PodScheduled",
    status: "False",
    reason: "Unschedulable",
    message: "0/3 nodes are available",
    lastTransitionTime: since,
  };
  return { metadata: { name }, spec: { containers: [] }, status: { conditions: [{ ...condition, status: "False" }] } };
}

test("on a cluster there is room until a pod has had no node for too long, and again when it has one", async () => {
  const clock = new SteppedClock(Date.parse("2026-01-01T00:00:00Z"));
  let pods = [waiting("py-a", "2026-01-01T00:00:00Z"), waiting("py-b", "2026-01-01T00:00:10Z")];
  const present = { ...aPool("py", 5), status: { replicas: 5 } };
  const capacity = { clock, settings: usualCapacity, replicasNow: () => 5, unschedulable: () => pods };
  const plugin = clusterCapacity(capacity);
  const grown = { ...present, spec: { ...present.spec, replicas: 8 } };
  await clock.step(29_000);
  expect(await plugin.preUpdatePool?.(grown, signal)).toEqual({ object: grown });
  await clock.step(1000);
  expect(await plugin.preUpdatePool?.(grown, signal)).toEqual({
    refusal: {
      kind: "InsufficientResources",
      message: "pod py-a has had no node for 30 s: 0/3 nodes are available",
      wouldFit: 5,
      retryAfterMs: 30_000,
    },
  });
  expect(clusterRoom(capacity, present)?.pods).toBe(3);
  pods = [];
  expect(await plugin.preUpdatePool?.(grown, signal)).toEqual({ object: grown });
});
