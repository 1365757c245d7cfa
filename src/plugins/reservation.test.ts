import { expect, test } from "vitest";
import { annotationKeys } from "#model/keys.ts";
import type { Container, Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { reservationPlugin } from "./reservation.ts";

const { signal } = new AbortController();
const plugin = reservationPlugin();

function aPool(reservation?: unknown): SandboxPool {
  const text = typeof reservation === "string" ? reservation : JSON.stringify(reservation);
  return {
    metadata: { name: "py", ...(reservation !== undefined && { annotations: { [annotationKeys.reservation]: text } }) },
    spec: { replicas: 1 },
  };
}

function aPod(...containers: readonly Omit<Container, "name">[]): Pod {
  return { metadata: { name: "py-x" }, spec: { containers: containers.map((one, index) => ({ name: `c${index}`, ...one })) } };
}

test("priority class and quota go onto the pods, and the quota is what each of them requests", async () => {
  const replicaQuota = { cpu: "500m", memory: "1Gi" };
  const pod = aPod({ resources: { limits: { cpu: "1", memory: "2Gi" }, requests: { cpu: "100m", memory: "1500Mi" } } });
  expect(await plugin.preCreatePod?.(pod, aPool({ priorityClassName: "high", replicaQuota }), signal)).toEqual({
    object: {
      metadata: { name: "py-x", annotations: { [annotationKeys.replicaQuota]: JSON.stringify(replicaQuota) } },
      spec: {
        priorityClassName: "high",
        containers: [{ name: "c0", resources: { limits: { cpu: "1", memory: "2Gi" }, requests: { cpu: "500m", memory: "1500Mi" } } }],
      },
    },
  });
});

test("what other containers request is a part of the quota", async () => {
  const pod = aPod({}, { resources: { requests: { cpu: "200m" } } });
  expect(await plugin.preCreatePod?.(pod, aPool({ replicaQuota: { cpu: "1" } }), signal)).toMatchObject({
    object: { spec: { containers: [{ resources: { requests: { cpu: "800m" } } }, { resources: { requests: { cpu: "200m" } } }] } },
  });
});

test("a pool without a reservation leaves pods as they are", async () => {
  const pod = aPod({});
  expect(await plugin.preCreatePod?.(pod, aPool(), signal)).toEqual({ object: pod });
});

test("a quota above what the pod may use is refused", async () => {
  const pod = aPod({ resources: { limits: { cpu: "1" } } });
  expect(await plugin.preCreatePod?.(pod, aPool({ replicaQuota: { cpu: "2" } }), signal)).toMatchObject({
    refusal: { kind: "InvalidSpec", message: expect.stringContaining("replicaQuota.cpu (2) is above") as string },
  });
});

test.each([
  ["no JSON", "must be a JSON object"],
  ["[]", "must be a JSON object"],
  ['{"priority":1}', "has no field priority"],
  ['{"priorityClassName":"Not A Name"}', "must be the name of a PriorityClass"],
  ['{"replicaQuota":{"cpu":"many"}}', "replicaQuota.cpu must be quantities"],
  ['{"replicaQuota":7}', "replicaQuota must be quantities"],
])("%s is refused for the pool already", async (text, message) => {
  for (const hook of ["preCreatePool", "preUpdatePool"] as const) {
    expect(await plugin[hook]?.(aPool(text), signal)).toMatchObject({
      refusal: { kind: "InvalidSpec", message: expect.stringContaining(message) as string },
    });
  }
});
