import { describe, expect, test } from "vitest";
import { annotationKeys, labelKeys, podConditions, type SandboxPhase } from "#model/keys.ts";
import { aPoolPod, digestOf, type PoolPodShape } from "../../test/world/pool-pods.ts";
import { liveRecordFromPod, sandboxBaseFromPod } from "./sandbox-base.ts";

const full: PoolPodShape = {
  phase: "running",
  id: "i1",
  images: { main: "app", side: "side" },
  labels: { [labelKeys.team]: "red", [labelKeys.user]: "ann", [labelKeys.env]: "shell", job: "j1", app: "base" },
  annotations: {
    [annotationKeys.claimedAt]: "2026-01-01T10:00:00Z",
    [annotationKeys.startedAt]: "2026-01-01T10:00:00.900Z",
    [annotationKeys.templateName]: "base",
    [annotationKeys.sandboxMetadata]: '{"purpose":"test"}',
    [annotationKeys.managedLabelKeys]: '["job","gone"]',
  },
};

describe("a sandbox is read from its pod", () => {
  test("with identity, owner, times, content and size", () => {
    const pod = aPoolPod(full);
    const [main, side] = pod.spec.containers;
    if (main === undefined || side === undefined) throw new Error("two containers");
    const sized = {
      ...pod,
      spec: { nodeName: "node-1", containers: [{ ...main, resources: { limits: { cpu: "1", memory: "1Gi" } } }, side] },
    };
    expect(sandboxBaseFromPod(sized)).toEqual({
      sandboxId: "i1",
      namespace: "ns",
      poolName: "py",
      podName: "py-1",
      envName: "shell",
      templateName: "base",
      team: "red",
      user: "ann",
      claimedAt: "2026-01-01T10:00:00.000Z",
      startedAt: "2026-01-01T10:00:00.900Z",
      containerImages: { main: `registry.invalid/app:1@${digestOf("app")}`, side: `registry.invalid/side:1@${digestOf("side")}` },
      metadata: { purpose: "test" },
      labels: { job: "j1" },
      cpu: "1",
      memory: "1Gi",
      node: "node-1",
    });
  });

  test("with nothing made up where nothing is said", () => {
    expect(sandboxBaseFromPod(aPoolPod({ phase: "starting", id: "i1" }))).toEqual({
      sandboxId: "i1",
      namespace: "ns",
      poolName: "py",
      podName: "py-1",
      team: "",
      user: "",
      claimedAt: "2026-01-01T00:00:00.000Z",
      containerImages: { main: `registry.invalid/idle:1@${digestOf("idle")}` },
      metadata: {},
    });
  });

  test("and not from a pod that carries none", () => {
    expect([sandboxBaseFromPod(aPoolPod()), liveRecordFromPod(aPoolPod())]).toEqual([undefined, undefined]);
  });

  test("without metadata that is none", () => {
    const broken = aPoolPod({
      ...full,
      annotations: { ...full.annotations, [annotationKeys.sandboxMetadata]: "{", [annotationKeys.claimedAt]: "once" },
    });
    expect(sandboxBaseFromPod(broken)).toMatchObject({ metadata: {}, claimedAt: "2026-01-01T00:00:00.000Z" });
  });
});

describe("a live sandbox", () => {
  test.for<[SandboxPhase, string | undefined]>([
    ["idle", undefined],
    ["starting", "Starting"],
    ["running", "Running"],
    ["stopping", "Stopping"],
    ["failed", undefined],
  ])("whose pod is %s is %s", ([phase, status]) => {
    const record = liveRecordFromPod(aPoolPod({ ...full, phase }));
    expect(record === undefined ? undefined : record.status).toBe(status);
    expect(record === undefined).toBe(status === undefined);
  });

  test("is paused when its container is frozen, not when that is only wished", () => {
    const wished = aPoolPod({ ...full, annotations: { ...full.annotations, [annotationKeys.paused]: "2026-01-01T11:00:00Z" } });
    const frozen = aPoolPod({ ...full, status: { conditions: [{ type: podConditions.paused, status: "True" }] } });
    expect([wished, frozen].map((pod) => liveRecordFromPod(pod)?.status)).toEqual(["Running", "Paused"]);
  });

  test("has nothing that only an end gives", () => {
    const record = liveRecordFromPod(aPoolPod(full));
    expect(Object.keys(record ?? {})).not.toEqual(expect.arrayContaining(["terminatedAt"]));
    expect(record).not.toHaveProperty("stopReason");
  });
});
