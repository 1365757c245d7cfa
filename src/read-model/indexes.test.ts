import { describe, expect, test } from "vitest";
import type { Checkpoint } from "#model/checkpoint.ts";
import { labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { aSandboxPod, type SandboxPodShape } from "../../test/world/sandbox-pods.ts";
import {
  checkpointIndexes,
  checkpointsById,
  checkpointsByUser,
  envsByMember,
  podIndexes,
  podsByPoolAndSlot,
  podsBySandboxId,
  podsByUser,
  poolIndexes,
  poolsByEnv,
  poolsByTemplateId,
  poolsByTemplateName,
  poolsByTeam,
  readyIdlePods,
  unschedulablePods,
} from "./indexes.ts";

function aCheckpoint(status: Checkpoint["status"], labels: Record<string, string> = {}): Checkpoint {
  return { metadata: { name: "c", labels }, spec: { sandboxID: "i1" }, ...(status === undefined ? {} : { status }) };
}

const foreign: Pod = { metadata: { namespace: "ns", name: "nginx" }, spec: { containers: [] } };

describe("pods are found", () => {
  test.for<[string, Pod, string]>([
    ["idle", aSandboxPod("p"), "ns/py/idle"],
    ["running", aSandboxPod("p", { phase: "running", id: "i1" }), "ns/py/running"],
    ["in another namespace and pool", aSandboxPod("p", { namespace: "other", pool: "go" }), "other/go/idle"],
    ["going, whatever their phase", aSandboxPod("p", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }), "ns/py/terminating"],
    [
      "in a phase that nobody knows",
      { ...foreign, metadata: { namespace: "ns", labels: { [labelKeys.sandboxPool]: "py" } } },
      "ns/py/unknown",
    ],
  ])("by pool and slot: %s", ([, pod, value]) => {
    expect(podsByPoolAndSlot.extract(pod)).toEqual([value]);
  });

  test("by pool while they are idle and ready", () => {
    expect(readyIdlePods.extract(aSandboxPod("p"))).toEqual(["ns/py"]);
    const others: SandboxPodShape[] = [
      { ready: false },
      { phase: "running", id: "i1" },
      { status: { conditions: [] } },
      { metadata: { deletionTimestamp: "now" } },
    ];
    expect(others.flatMap((shape) => readyIdlePods.extract(aSandboxPod("p", shape)))).toEqual([]);
  });

  test("by pool while the scheduler finds no node for them", () => {
    const scheduled = (status: "True" | "False", reason?: string): SandboxPodShape => ({
      status: { conditions: [{ type: "PodScheduled", status, ...(reason !== undefined && { reason }) }] },
    });
    expect(unschedulablePods.extract(aSandboxPod("p", scheduled("False", "Unschedulable")))).toEqual(["ns/py"]);
    const others = [scheduled("True"), scheduled("False", "SchedulingGated"), {}];
    expect(others.flatMap((shape) => unschedulablePods.extract(aSandboxPod("p", shape)))).toEqual([]);
  });

  test("by sandbox id as long as they show one, and by user", () => {
    const stopping = aSandboxPod("p", { phase: "stopping", id: "i1", user: "ann" });
    expect([podsBySandboxId.extract(stopping), podsByUser.extract(stopping)]).toEqual([["i1"], ["ann"]]);
    expect([podsBySandboxId.extract(aSandboxPod("p")), podsByUser.extract(aSandboxPod("p", { user: "" }))]).toEqual([[], []]);
  });

  test("not at all when they are somebody else's", () => {
    expect(podIndexes.flatMap((index) => index.extract(foreign))).toEqual([]);
  });
});

test("checkpoints are found by the id that they got, and by user", () => {
  const taken = aCheckpoint({ phase: "Succeeded", checkpointId: "c1" }, { [labelKeys.user]: "ann" });
  expect([checkpointsById.extract(taken), checkpointsByUser.extract(taken)]).toEqual([["c1"], ["ann"]]);
  expect(checkpointsById.extract(aCheckpoint({ phase: "Creating", checkpointId: "" }))).toEqual([]);
  expect(checkpointIndexes.flatMap((index) => index.extract(aCheckpoint(undefined)))).toEqual([]);
});

test("pools are found by the template id that they are: their name", () => {
  const pool: SandboxPool = { metadata: { namespace: "ns", name: "py" }, spec: { replicas: 1, templateName: "base" } };
  expect(poolsByTemplateId.extract(pool)).toEqual(["py"]);
});

test("pools are found by the template that they name, and not if they name none", () => {
  const pool: SandboxPool = { metadata: { namespace: "ns", name: "py" }, spec: { replicas: 1, templateName: "base" } };
  expect(poolsByTemplateName.extract(pool)).toEqual(["base"]);
  expect(poolsByTemplateName.extract({ ...pool, spec: { replicas: 1 } })).toEqual([]);
});

test("every index has a name of its own and is about the kind whose list it stands in", () => {
  const lists = { Pod: podIndexes, Checkpoint: checkpointIndexes, SandboxPool: poolIndexes };
  const all = Object.entries(lists).flatMap(([kind, list]) => list.map(({ name, type }) => ({ name, kind, of: type.kind })));
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
  expect(all.filter(({ kind, of }) => kind !== of)).toEqual([]);
});

test("pools are found by the Env that their label names, in their namespace", () => {
  const pool = (labels: Record<string, string>): SandboxPool => ({
    metadata: { namespace: "ns", name: "py", labels },
    spec: { replicas: 0 },
  });
  expect(poolsByEnv.extract(pool({ [labelKeys.env]: "shell" }))).toEqual(["ns/shell"]);
  expect(poolsByEnv.extract(pool({}))).toEqual([]);
});

test("pools are found by the team that owns them, and shared ones by none", () => {
  const owned = (labels: Record<string, string>): SandboxPool => ({ metadata: { name: "py", labels }, spec: { replicas: 0 } });
  expect(poolsByTeam.extract(owned({ [labelKeys.team]: "red" }))).toEqual(["red"]);
  expect([owned({}), owned({ [labelKeys.team]: "" })].flatMap((pool) => poolsByTeam.extract(pool))).toEqual([]);
});

test("Envs are found by the names of their members, each once, whatever the cluster", () => {
  const members = (...names: string[]) => names.map((name) => ({ name }));
  const clusters = [{ clusterID: "a", members: members("x", "y") }, { clusterID: "b", members: members("x") }, { clusterID: "c" }];
  const env: SandboxEnv = { metadata: { namespace: "ns", name: "e" }, spec: { templateRef: { name: "t" }, mode: "WarmPool", clusters } };
  expect(envsByMember.extract(env)).toEqual(["ns/x", "ns/y"]);
});
