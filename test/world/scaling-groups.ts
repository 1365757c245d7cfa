/** Scaling groups for tests of the autoscaler. */
import type { GroupMember, GroupSnapshot } from "#autoscaling/group.ts";

export const groupNow = Date.parse("2026-01-01T12:00:00Z");

export function aMember(more: Partial<GroupMember> = {}): GroupMember {
  return {
    clusterID: "local",
    name: "a",
    isLocal: true,
    replicas: 2,
    minReplicas: 0,
    maxReplicas: undefined,
    scaleUpPriority: 0,
    scaleDownPriority: 0,
    idle: 0,
    coming: 0,
    claimed: 0,
    stopping: 0,
    failed: 0,
    waiting: 0,
    idleForMs: [],
    lastCreateAtMs: undefined,
    status: {},
    fullBecause: undefined,
    ...more,
  };
}

type Loose = Partial<Omit<GroupSnapshot, "group">> & { readonly group?: Partial<GroupSnapshot["group"]> };

export function aGroup({ group, ...more }: Loose = {}): GroupSnapshot {
  return {
    group: { name: "default", enabled: true, ...group },
    members: [aMember()],
    waiting: 0,
    arrivals: { refillMs: 1_000, spare: 0, perSecond: 0 },
    recentPeak: 0,
    watchedSinceMs: 0,
    nowMs: groupNow,
    ...more,
  };
}

/** RFC 3339 of so many seconds ago. */
export function ago(seconds: number): string {
  return new Date(groupNow - seconds * 1000).toISOString();
}
