import { describe, expect, test } from "vitest";
import type { EnvClusterStatus, EnvObservedMember } from "#model/env-status.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import { aMember, shellEnv, shellTemplate } from "../../../test/world/env-objects.ts";
import { envStatus, type StatusFacts } from "./env-status.ts";

const noon = "2026-01-01T12:00:00Z";
const later = "2026-01-01T12:05:00Z";
const seen = (name: string, numbers: Partial<EnvObservedMember> = {}): EnvObservedMember => ({ name, state: "Active", ...numbers });
const facts = (more: Partial<StatusFacts> = {}): StatusFacts => ({
  env: shellEnv(),
  clusterID: "local",
  problems: [],
  members: [seen("shell-a")],
  template: shellTemplate(),
  leaving: [],
  waiting: [],
  decisions: new Map(),
  ...more,
});
const away: EnvClusterStatus = {
  clusterID: "away",
  isLocal: false,
  observedMembers: [seen("far", { idleCount: 5, runningCount: 6, desiredReplicas: 11 })],
  lastSnapshotTime: noon,
};

describe("the segment of this cluster", () => {
  test("has the time at which something in it last changed, not of the last look", () => {
    const first = envStatus(facts(), noon);
    const env: SandboxEnv = { ...shellEnv(), status: first };
    expect(first.clusters).toEqual([{ clusterID: "local", isLocal: true, observedMembers: [seen("shell-a")], lastSnapshotTime: noon }]);
    expect(envStatus(facts({ env }), later).clusters?.[0]?.lastSnapshotTime).toBe(noon);
    expect(envStatus(facts({ env, members: [seen("shell-a", { idleCount: 1 })] }), later).clusters?.[0]?.lastSnapshotTime).toBe(later);
  });

  test("stands beside those of other clusters, which stay as they are", () => {
    const env: SandboxEnv = { ...shellEnv(), status: { clusters: [away] } };
    expect(envStatus(facts({ env }), later).clusters).toEqual([away, expect.objectContaining({ clusterID: "local", isLocal: true })]);
  });
});

describe("sums", () => {
  const members = [aMember("shell-a"), aMember("shell-b", { scalingGroup: "large" }), aMember("shell-c", { scalingGroup: "" })];
  const env: SandboxEnv = {
    ...shellEnv({
      spec: {
        clusters: [
          { clusterID: "local", members },
          { clusterID: "away", members: [aMember("far")] },
        ],
      },
    }),
    status: { clusters: [away] },
  };
  const here = [
    seen("shell-a", { idleCount: 1, runningCount: 2, desiredReplicas: 3 }),
    seen("shell-b", { idleCount: 10, runningCount: 20, desiredReplicas: 30 }),
    seen("shell-c", { idleCount: 100, runningCount: 200, desiredReplicas: 300 }),
  ];

  test("of the Env are over all members of all clusters", () => {
    expect(envStatus(facts({ env, members: here }), noon)).toMatchObject({
      memberCount: 4,
      idleReplicas: 116,
      runningReplicas: 228,
      desiredReplicas: 344,
      waitingRequests: 0,
    });
  });

  test("of a group are over its members in all clusters; a member of no group is in none", () => {
    const waiting = [
      { members: ["shell-a", "shell-b"], count: 3 },
      { members: ["shell-b"], count: 1 },
    ];
    const decisions = new Map([["shell-b", "30 wanted"]]);
    expect(envStatus(facts({ env, members: here, waiting, decisions }), noon).scalingGroups).toEqual([
      { name: "default", totalIdle: 6, totalRunning: 8, totalDesired: 14, totalWaiting: 3 },
      { name: "large", totalIdle: 10, totalRunning: 20, totalDesired: 30, totalWaiting: 4, decision: "30 wanted" },
    ]);
  });
});
