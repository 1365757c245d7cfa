/**
 * The autoscaler: sizes the groups of Envs. One loop, keyed by Env, so that there is one decision at a time for a whole group.
 *
 * - `reconcile-scaling.ts` the loop and what wakes it
 * - `group-snapshot.ts`    a group as it stands, read off the cache; what is decided from it is pure (`#autoscaling/decide-group.ts`)
 * - `apply-plan.ts`        asks plugins, writes (`write-env.ts`, `write-pool.ts`), tells
 * - `watch-pods.ts`        creates and refill times, seen in the changes of pods
 * - `group-memory.ts`      what it remembers; `scaling-numbers.ts` metrics; `scaling-deps.ts` what all of them work with
 *
 * It writes members' `spec.replicas` on Envs, and `status.autoscaling` and the annotation last-sandbox-create-time on pools; nothing else
 * writes these where a group is enabled. It makes no pods: the pool controller does, for waiting requests even before the number follows.
 */
import { decideGroup } from "#autoscaling/decide-group.ts";
import { wantedByDemand } from "#autoscaling/size-by-demand.ts";
import { envKeyOf } from "#controllers/pool/env-membership.ts";
import { type Controller, startController } from "#kube/controller/controller.ts";
import type { Key } from "#kube/controller/key.ts";
import { changesOf, type Source } from "#kube/controller/source.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import type { EnvAutoscalingGroup } from "#model/env-autoscaling.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { isOnDemand } from "#sandbox/envs/env-members.ts";
import { applyPlan } from "./apply-plan.ts";
import { GroupMemories } from "./group-memory.ts";
import { groupSnapshot } from "./group-snapshot.ts";
import { defaultScalingPace, type ScalingDeps, type ScalingTools } from "./scaling-deps.ts";
import { ScalingNumbers } from "./scaling-numbers.ts";
import { poolOfPod, watchPods } from "./watch-pods.ts";

/** Decides about every enabled group of the Env. Of the others nothing is written. */
export async function reconcileScaling(tools: ScalingTools, key: Key, signal: AbortSignal): Promise<Requeue> {
  const env = tools.cache.envs.objects.get(key);
  const groups = env === undefined || env.metadata.deletionTimestamp !== undefined ? [] : enabledGroups(env);
  for (const group of tools.memories.keep(
    key,
    groups.map(({ name }) => name),
  ))
    tools.numbers.forget(key, group);
  if (env === undefined || groups.length === 0) return undefined;
  const waitMs = tools.memories.paceMs(key);
  if (waitMs > 0) return { afterMs: waitMs, exact: true };
  const times: number[] = [tools.pace.lookEveryMs];
  for (const { name } of groups) {
    // The write for one group is part of the Env on which the next is decided.
    const latest = tools.cache.envs.objects.get(key) ?? env;
    const group = enabledGroups(latest).find((one) => one.name === name);
    if (group !== undefined) times.push(await scaleGroup(tools, latest, group, signal));
  }
  const soonest = Math.min(...times);
  return { afterMs: Math.max(1, soonest), routine: soonest === tools.pace.lookEveryMs };
}

async function scaleGroup(tools: ScalingTools, env: SandboxEnv, group: EnvAutoscalingGroup, signal: AbortSignal): Promise<number> {
  const { namespace, name = "" } = env.metadata;
  const memory = tools.memories.of({ namespace, name }, group.name);
  const snapshot = groupSnapshot(tools, env, group, memory);
  const plan = decideGroup(snapshot);
  memory.wanted.note(wantedByDemand(snapshot), snapshot.nowMs);
  tools.numbers.decided({ namespace, name }, snapshot, plan);
  const againInMs = await applyPlan(tools, { env, snapshot, plan, memory }, signal);
  return Math.min(againInMs ?? Infinity, plan.againInMs ?? Infinity);
}

/** None where pods are made for requests only: there is no stock to size. */
function enabledGroups(env: SandboxEnv): readonly EnvAutoscalingGroup[] {
  if (isOnDemand(env)) return [];
  return (env.spec.autoscaling?.groups ?? []).filter(({ enabled }) => enabled === true);
}

export function startScalingController(deps: ScalingDeps): Controller {
  const tools = scalingTools(deps);
  const { cache, refusals } = deps;
  const ofKey = (key: Key): readonly Key[] => envOfPool(cache.pools.objects.get(key));
  return startController(deps, {
    name: "scaling",
    reconcile: (key, signal) => reconcileScaling(tools, key, signal),
    sources: [
      changesOf(cache.envs),
      changesOf(cache.pools, { keys: envOfPool }),
      changesOf(cache.pods, { keys: (pod: Pod) => envOfPool(poolOfPod(cache, pod)) }),
      waitingAt(deps, ofKey),
      ...(refusals === undefined ? [] : [refusals.source(ofKey)]),
    ],
    following: [watchPods(tools), () => tools.numbers.stop()],
  });
}

function envOfPool(pool: SandboxPool | undefined): readonly Key[] {
  const key = pool === undefined ? undefined : envKeyOf(pool);
  return key === undefined ? [] : [key];
}

/** Requests that begin to wait are seen at once. */
function waitingAt({ pressure }: ScalingDeps, envsOf: (pool: Key) => readonly Key[]): Source {
  return {
    connect: (add) => ({
      whenSynced: async () => {},
      remove: pressure?.onWaiting((pool) => envsOf(pool).forEach((env) => add(env, "first"))) ?? (() => {}),
    }),
  };
}

export function scalingTools(deps: ScalingDeps): ScalingTools {
  const pace = { ...defaultScalingPace, ...deps.pace };
  return { ...deps, pace, memories: new GroupMemories(deps.clock, pace), numbers: new ScalingNumbers(deps.metrics) };
}
