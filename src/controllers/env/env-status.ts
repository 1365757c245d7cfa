/** The status of an Env: the segment of this cluster, sums over all clusters, and conditions. Pure. Segments of other clusters stay as they are. */
import { isDeepStrictEqual } from "node:util";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { statedCondition } from "#model/conditions.ts";
import type { EnvClusterStatus, EnvObservedMember, EnvScalingGroupStatus, SandboxEnvStatus } from "#model/env-status.ts";
import { allMembers, type PlacedMember, scalingGroupOf } from "#sandbox/envs/env-members.ts";
import { type EnvFacts, envConditionsOf } from "./env-conditions.ts";

export interface StatusFacts extends EnvFacts {
  /** Requests that wait for a pod of a member with this name, each with the members that could serve it. */
  readonly waiting: readonly WaitingRequests[];
  /** By the member's name: what the autoscaler said last. */
  readonly decisions: ReadonlyMap<string, string>;
}

export interface WaitingRequests {
  readonly members: readonly string[];
  readonly count: number;
}

export function envStatus(facts: StatusFacts, now: string): SandboxEnvStatus {
  const { env, clusterID, members } = facts;
  const before = env.status?.clusters ?? [];
  const mine = segment(
    before.find((one) => one.clusterID === clusterID),
    { clusterID, members },
    now,
  );
  const clusters = before.some((one) => one.clusterID === clusterID)
    ? before.map((one) => (one.clusterID === clusterID ? mine : one))
    : [...before, mine];
  const seen = observations(allMembers(env), clusters);
  const groups = scalingGroups(seen, facts);
  return {
    conditions: envConditionsOf(facts).map((condition) => statedCondition(env, condition, now)),
    clusters,
    scalingGroups: groups,
    ...withoutUndefined({ templateVersion: usedVersion(facts) }),
    memberCount: seen.length,
    desiredReplicas: sum(seen, "desiredReplicas"),
    runningReplicas: sum(seen, "runningCount"),
    idleReplicas: sum(seen, "idleCount"),
    waitingRequests: facts.waiting.reduce((total, { count }) => total + count, 0),
  };
}

/** Its time is when something in it last changed: time alone is nothing to write. */
function segment(
  before: EnvClusterStatus | undefined,
  { clusterID, members }: { readonly clusterID: string; readonly members: readonly EnvObservedMember[] },
  now: string,
): EnvClusterStatus {
  const observedMembers = [...members];
  const isSame = before?.isLocal === true && isDeepStrictEqual(before.observedMembers, observedMembers);
  return { clusterID, isLocal: true, observedMembers, lastSnapshotTime: isSame ? (before.lastSnapshotTime ?? now) : now };
}

interface Seen {
  readonly placed: PlacedMember;
  readonly observed: EnvObservedMember | undefined;
}

function observations(members: readonly PlacedMember[], clusters: readonly EnvClusterStatus[]): readonly Seen[] {
  return members.map((placed) => {
    const cluster = clusters.find(({ clusterID }) => clusterID === placed.clusterID);
    return { placed, observed: cluster?.observedMembers?.find(({ name }) => name === placed.member.name) };
  });
}

function scalingGroups(seen: readonly Seen[], { waiting, decisions }: StatusFacts): readonly EnvScalingGroupStatus[] {
  const groups = Map.groupBy(seen, ({ placed }) => scalingGroupOf(placed.member));
  groups.delete("");
  return [...groups].map(([name, members]) => {
    const names = new Set(members.map(({ placed }) => placed.member.name));
    const decision = members.map(({ placed }) => decisions.get(placed.member.name)).find((text) => text !== undefined);
    return {
      name,
      totalIdle: sum(members, "idleCount"),
      totalRunning: sum(members, "runningCount"),
      totalDesired: sum(members, "desiredReplicas"),
      totalWaiting: waiting.filter((one) => one.members.some((member) => names.has(member))).reduce((total, { count }) => total + count, 0),
      ...withoutUndefined({ decision }),
    };
  });
}

function sum(seen: readonly Seen[], field: "idleCount" | "runningCount" | "desiredReplicas"): number {
  return seen.reduce((total, { observed }) => total + (observed?.[field] ?? 0), 0);
}

function usedVersion({ env, template }: EnvFacts): string | undefined {
  const { version = "" } = env.spec.templateRef;
  const used = version === "" ? template?.spec.version : version;
  return used === "" ? undefined : used;
}
