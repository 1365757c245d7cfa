/** Carries out a plan for one group, in this order: plugins are asked, the Env is written, then the pools' status, then events and the log. */
import { type AttemptOutcome, concludeAttempt, type Grant } from "#autoscaling/attempts.ts";
import type { GroupEvent, GroupMember, GroupPlan, GroupSnapshot, MemberPlan } from "#autoscaling/group.ts";
import { policyOf, saturatedForMs } from "#autoscaling/policy.ts";
import { followScaleDown } from "#autoscaling/scale-down-session.ts";
import { countPods, countUnschedulable, replicasOf } from "#controllers/pool/status/pool-counts.ts";
import type { Key } from "#kube/controller/key.ts";
import { kubernetesTime } from "#lib/clock.ts";
import { ownGroup, ownVersion } from "#model/keys.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import type { GroupMemory } from "./group-memory.ts";
import type { ScalingTools } from "./scaling-deps.ts";
import { type StatusChange, writeAutoscaling, writeCreateTime } from "./write-pool.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { JsonPatchOperation } from "#model/patch.ts";

export interface GroupTurn {
  readonly env: SandboxEnv;
  readonly snapshot: GroupSnapshot;
  readonly plan: GroupPlan;
  readonly memory: GroupMemory;
}

/** Resolves with when to look again because of what happened here. */
export async function applyPlan(tools: ScalingTools, turn: GroupTurn, signal: AbortSignal): Promise<number | undefined> {
  const { env, snapshot, plan } = turn;
  const attempts = await grownAttempts(tools, turn, signal);
  const replicas = new Map(
    plan.members.map(({ name, replicas: wanted, grows }) => [name, (grows ? attempts.get(name)?.replicas : undefined) ?? wanted]),
  );
  const isWritten = await writeReplicas(tools, env, replicas, signal);
  // The Env has changed: what was decided on another one is not told.
  if (!isWritten) return retryMs;
  const changed = plan.members.filter(({ name }) => replicas.get(name) !== memberOf(snapshot, name)?.replicas);
  if (changed.length > 0) {
    const { namespace, name } = env.metadata;
    const sizes = Object.fromEntries(changed.map((member) => [member.name, replicas.get(member.name)]));
    tools.log.info(
      { env: name, namespace, group: snapshot.group.name, reason: plan.reason, replicas: sizes, decision: plan.decision },
      "group scaled",
    );
  }
  for (const member of plan.members) {
    const outcome = { replicas: replicas.get(member.name) ?? member.replicas, attempt: attempts.get(member.name) };
    await keepBooks(tools, turn, { member, ...outcome }, signal);
  }
  tell(tools, turn, [...attempts.values()].map(({ event }) => event).filter(isNews(turn)));
  tell(tools, turn, plan.events);
  // A sibling may take what did not fit.
  return [...attempts.values()].some(({ result }) => result !== "Enough") ? retryMs : undefined;
}

const retryMs = 100;

function memberOf({ members }: GroupSnapshot, name: string): GroupMember | undefined {
  return members.find((member) => member.isLocal && member.name === name);
}

/** Members that are to grow, and those of which it is known that they are full. */
async function grownAttempts(
  tools: ScalingTools,
  { env, snapshot, plan }: GroupTurn,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, AttemptOutcome>> {
  const outcomes = new Map<string, AttemptOutcome>();
  const { saturationMs } = policyOf(snapshot.group);
  for (const { name, replicas, grows } of plan.members) {
    const member = memberOf(snapshot, name);
    if (member === undefined) continue;
    const key = { namespace: env.metadata.namespace, name };
    const grant = grows
      ? await asked(tools, key, { wanted: replicas, present: member.replicas }, signal)
      : (knownGrant(tools, snapshot, member, key) ?? (await grantOfMore(tools, snapshot, { member, key }, signal)));
    if (grant === undefined) continue;
    const wanted = grows ? replicas : Math.max(member.replicas + 1, tools.refusals?.fresh(key)?.wanted ?? 0);
    const attempt = { member: name, present: member.replicas, wanted, decision: plan.decision, saturationMs, nowMs: snapshot.nowMs };
    outcomes.set(name, concludeAttempt(attempt, grant));
  }
  return outcomes;
}

async function asked(
  { plugins, cache }: ScalingTools,
  key: Key,
  { wanted, present }: { readonly wanted: number; readonly present: number },
  signal: AbortSignal,
): Promise<Grant> {
  const pool = cache.pools.objects.get(key);
  if (plugins === undefined || pool === undefined) return { admitted: wanted };
  const { admitted, refusal } = await plugins.probe(pool, wanted, signal);
  return { admitted: Math.max(present, admitted), refusal: refusal && { ...refusal, message: `${refusal.plugin}: ${refusal.message}` } };
}

/** What the pool itself says, or what plugins said when it wanted pods for waiting requests; told again when the last telling is over. */
function knownGrant({ refusals }: ScalingTools, { group, nowMs }: GroupSnapshot, member: GroupMember, key: Key): Grant | undefined {
  if (saturatedForMs(member, policyOf(group), nowMs) > 0) return undefined;
  const refused = refusals?.fresh(key)?.refusal;
  if (refused !== undefined)
    return { admitted: member.replicas, refusal: { ...refused, message: `${refused.plugin}: ${refused.message}` } };
  if (member.fullBecause === undefined) return undefined;
  return { admitted: member.replicas, refusal: { kind: "InsufficientResources", message: member.fullBecause } };
}

/** Of a member with pods that no node takes it is asked whether one more would find room, so that it is told and siblings have them. */
async function grantOfMore(
  tools: ScalingTools,
  { group, nowMs }: GroupSnapshot,
  { member, key }: { readonly member: GroupMember; readonly key: Key },
  signal: AbortSignal,
): Promise<Grant | undefined> {
  if (countUnschedulable(tools.cache, key) === 0 || saturatedForMs(member, policyOf(group), nowMs) > 0) return undefined;
  const grant = await asked(tools, key, { wanted: member.replicas + 1, present: member.replicas }, signal);
  return grant.refusal === undefined ? undefined : grant;
}

interface MemberOutcome {
  readonly member: MemberPlan;
  readonly replicas: number;
  readonly attempt: AttemptOutcome | undefined;
}

async function keepBooks(
  tools: ScalingTools,
  turn: GroupTurn,
  { member, replicas, attempt }: MemberOutcome,
  signal: AbortSignal,
): Promise<void> {
  const { env, snapshot, plan, memory } = turn;
  const key = { namespace: env.metadata.namespace, name: member.name };
  const pool = tools.cache.pools.objects.get(key);
  const before = memberOf(snapshot, member.name);
  if (pool === undefined || before === undefined) return;
  const now = kubernetesTime(snapshot.nowMs);
  const change: StatusChange = {
    ...over(before, snapshot),
    ...attempt?.status,
    ...(replicas > before.replicas && { lastScaleUpTime: now }),
    ...(replicas < before.replicas && { lastScaleDownTime: now }),
    idleZeroSince: member.idleZeroSince,
    decision: plan.decision,
  };
  const isTextDue = snapshot.nowMs - (memory.toldAtMs.get(member.name) ?? -Infinity) >= tools.pace.tellEveryMs;
  if (await writeAutoscaling(tools, pool, change, { isTextDue, signal })) memory.toldAtMs.set(member.name, snapshot.nowMs);
  await writeCreateTime(tools, pool, memory.createdAtMs.get(`${key.namespace ?? ""}/${key.name}`), signal);
  followSession(tools, turn, { key, before, replicas });
}

/** A saturation that is over is not shown any longer. */
function over(member: GroupMember, { group, nowMs }: GroupSnapshot): StatusChange {
  const isOver = member.status.saturatedUntil !== undefined && saturatedForMs(member, policyOf(group), nowMs) === 0;
  return isOver ? { saturatedUntil: undefined } : {};
}

function followSession(
  tools: ScalingTools,
  turn: GroupTurn,
  { key, before, replicas }: { readonly key: Key; readonly before: GroupMember; readonly replicas: number },
): void {
  const { sessions } = turn.memory;
  const { nowMs } = turn.snapshot;
  if (replicas < before.replicas) {
    sessions.set(before.name, { startedMs: sessions.get(before.name)?.startedMs ?? nowMs, target: replicas, toldStuckMs: undefined });
    return;
  }
  const session = sessions.get(before.name);
  if (session === undefined) return;
  const sight = { member: before.name, replicas, pods: replicasOf(countPods(tools.cache, key)), nowMs };
  const news = followScaleDown(session, sight);
  if (news.session === undefined) sessions.delete(before.name);
  else sessions.set(before.name, news.session);
  if (news.event !== undefined) tell(tools, turn, [news.event]);
}

/** That a member is still full is no news. */
function isNews({ snapshot }: GroupTurn): (event: GroupEvent) => boolean {
  return ({ reason, member, message }) =>
    reason !== "AutoscalerScaleUpRejected" || !message.endsWith(memberOf(snapshot, member)?.status.scaleUpErrorMessage ?? "\n");
}

function tell({ events, cache }: ScalingTools, { env }: Pick<GroupTurn, "env">, news: readonly GroupEvent[]): void {
  const { namespace } = env.metadata;
  for (const { member, type, reason, message } of news) {
    const uid = cache.pools.objects.get({ namespace, name: member })?.metadata.uid;
    if (uid === undefined) continue;
    events.record(
      { apiVersion: `${ownGroup}/${ownVersion}`, kind: "SandboxPool", namespace, name: member, uid },
      { type, reason, message },
    );
  }
}

/**
 * Writes the numbers of members onto their Env: only these, and only on the Env that they were decided on (W3).
 *
 * By name of the member, in the entry of our cluster. False when the Env has changed since: that change wakes the loop again.
 */
async function writeReplicas(
  { client, cache, clusterID }: ScalingTools,
  env: SandboxEnv,
  replicas: ReadonlyMap<string, number>,
  signal: AbortSignal,
): Promise<boolean> {
  const operations = replicaOperations(env, clusterID, replicas);
  if (operations.length === 0) return true;
  const { namespace, name = "", resourceVersion = "" } = env.metadata;
  const test: JsonPatchOperation = { op: "test", path: "/metadata/resourceVersion", value: resourceVersion };
  try {
    const patch = { type: "json" as const, operations: [test, ...operations] };
    cache.envs.remember(await client.patch(SandboxEnvs, { namespace, name }, patch, { signal }));
    return true;
  } catch (error) {
    if (isLostRace(error)) return false;
    throw error;
  }
}

/** One entry of a list each. The places in the lists are those of the Env that was read; the resourceVersion is tested first. */
function replicaOperations(
  { spec: { clusters = [] } }: SandboxEnv,
  clusterID: string,
  replicas: ReadonlyMap<string, number>,
): readonly JsonPatchOperation[] {
  const cluster = clusters.findIndex((one) => one.clusterID === clusterID);
  const members = clusters[cluster]?.members ?? [];
  return members.flatMap(({ name, spec }, index): JsonPatchOperation[] => {
    const value = replicas.get(name);
    if (value === undefined || spec === undefined || spec.replicas === value) return [];
    return [{ op: "add", path: `/spec/clusters/${cluster}/members/${index}/spec/replicas`, value }];
  });
}
