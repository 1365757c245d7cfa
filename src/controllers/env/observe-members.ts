/** What is seen of an Env's members in this cluster. Pure. */
import type { EnvObservedMember } from "#model/env-status.ts";
import { annotationKeys } from "#model/keys.ts";
import type { ResourceRequirements } from "#model/pod.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { hasSnapshot, isAdopted, isOnDemand, isOwnedBy, type PlacedMember } from "#sandbox/envs/env-members.ts";
import { isUpToDate } from "./plan-member.ts";

export interface MemberFacts {
  readonly env: SandboxEnv;
  readonly placed: PlacedMember;
  readonly pool: SandboxPool | undefined;
  /** Why it could not be admitted. */
  readonly refusal: string | undefined;
  readonly nowMs: number;
}

export function observeMember(facts: MemberFacts): EnvObservedMember {
  const { env, placed } = facts;
  const pool = facts.pool !== undefined && isOwnedBy(facts.pool, env) ? facts.pool : undefined;
  return {
    name: placed.member.name,
    ...withoutUndefined(sizeOf(placed, pool)),
    ...withoutUndefined({ templateVersion: madeFrom(pool, placed), saturatedUntil: saturatedUntil(pool, facts.nowMs) }),
    ...stateOf({ ...facts, pool }, facts.pool !== pool),
    ...countsOf(facts, pool),
  };
}

function sizeOf({ member: { config = {}, spec } }: PlacedMember, pool: SandboxPool | undefined) {
  const { instanceType, multiplier, inlineResources } = config;
  const isTyped = instanceType !== undefined && instanceType !== "";
  const effectiveResources = resourcesIn(pool?.spec ?? spec) ?? inlineResources;
  return isTyped ? { instanceType, multiplier, effectiveResources } : { effectiveResources };
}

function countsOf({ env, placed: { member } }: MemberFacts, pool: SandboxPool | undefined) {
  const { idleReplicas = 0, runningReplicas = 0, pendingRequests = 0 } = pool?.status ?? {};
  const [desiredReplicas, currentReplicas] = [isOnDemand(env) ? 0 : (member.spec?.replicas ?? 0), pool?.spec.replicas ?? 0];
  return { idleCount: idleReplicas, runningCount: runningReplicas, desiredReplicas, currentReplicas, pendingRequests };
}

type State = Required<Pick<EnvObservedMember, "state">> & Pick<EnvObservedMember, "message">;

/** `isTaken`: there is a pool of the name, and it is not the Env's. */
function stateOf(facts: MemberFacts, isTaken: boolean): State {
  const { placed, pool, refusal } = facts;
  const { name } = placed.member;
  if (pool === undefined) {
    if (refusal !== undefined) return { state: "Missing", message: refusal };
    if (isTaken) return { state: "Missing", message: `another pool has the name ${name}; choose another member name` };
    return { state: "Missing", message: `pool ${name} does not exist yet; it is created as soon as the Env is valid` };
  }
  if (pool.metadata.deletionTimestamp !== undefined) {
    return { state: "Missing", message: `pool ${name} is being deleted; it is created again after the deletion` };
  }
  return inconsistency(facts, pool) ?? saturation(facts, pool) ?? { state: "Active" };
}

function inconsistent(message: string): State {
  return { state: "Inconsistent", message };
}

const refreshIt = "refresh the member";

function inconsistency({ env, placed }: MemberFacts, pool: SandboxPool): State | undefined {
  const { member } = placed;
  const { name, version = "" } = env.spec.templateRef;
  if (isAdopted(env, member.name)) return adoptedInconsistency(env, placed);
  if (!hasSnapshot(member))
    return inconsistent("its choices have changed, and what follows from them was refused: see the events of the Env");
  if (!isUpToDate(env, placed)) {
    return inconsistent(`its config or the Env's overrides have changed since its pool was rendered; ${refreshIt} to apply them`);
  }
  const { annotations = {} } = pool.metadata;
  const from = annotations[annotationKeys.templateName];
  if (from !== undefined && from !== name) return inconsistent(`its pool is made from template ${from}, not ${name}; ${refreshIt}`);
  const at = annotations[annotationKeys.templateVersion] ?? "";
  if (version !== "" && at !== version) {
    return inconsistent(`its pool is made from version ${at === "" ? "(none)" : at} of the template, not ${version}; ${refreshIt}`);
  }
  return undefined;
}

/** An adopted pool stays what it was before its Env. */
function adoptedInconsistency(env: SandboxEnv, { member: { config } }: PlacedMember): State | undefined {
  const isOverridden = Object.keys(env.spec.overrides ?? {}).length > 0;
  const isTyped = (config?.instanceType ?? "") !== "";
  const what = isOverridden ? "spec.overrides" : isTyped ? "config.instanceType" : isOnDemand(env) ? "mode OnDemandJob" : undefined;
  if (what === undefined) return undefined;
  return inconsistent(`its pool was there before the Env, and ${what} does not reach it; change the pool itself, or add a member`);
}

function saturation({ placed, nowMs }: MemberFacts, pool: SandboxPool): State | undefined {
  const until = saturatedUntil(pool, nowMs);
  if (until !== undefined) {
    const why = pool.status?.autoscaling?.scaleUpErrorMessage ?? "the last try to grow did not give all that was asked for";
    return { state: "Saturated", message: `the pool cannot grow now: ${why}; tried again after ${until}` };
  }
  const { maxReplicas } = placed.member.config ?? {};
  const isFull = maxReplicas !== undefined && pool.spec.replicas >= maxReplicas && (pool.status?.idleReplicas ?? 0) === 0;
  if (!isFull) return undefined;
  return {
    state: "Saturated",
    message: `the pool has its maximum of ${maxReplicas} pods and none is idle; raise config.maxReplicas, or add a member`,
  };
}

function madeFrom(pool: SandboxPool | undefined, { member }: PlacedMember): string | undefined {
  return (pool?.metadata ?? member.metadata)?.annotations?.[annotationKeys.templateVersion];
}

function resourcesIn(spec: Pick<SandboxPool["spec"], "template"> | undefined): ResourceRequirements | undefined {
  return spec?.template?.spec?.containers[0]?.resources;
}

/** Undefined when it is over. */
function saturatedUntil(pool: SandboxPool | undefined, nowMs: number): string | undefined {
  const until = pool?.status?.autoscaling?.saturatedUntil;
  return until !== undefined && Date.parse(until) > nowMs ? until : undefined;
}
