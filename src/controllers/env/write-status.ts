/** Writes an Env's status when it has changed, and not more often than the pace allows. */
import { isDeepStrictEqual } from "node:util";
import { isLostRace } from "#kube/lost-race.ts";
import { kubernetesTime } from "#lib/clock.ts";
import type { WaitingSet } from "#model/claim-demand.ts";
import type { SandboxEnvStatus } from "#model/env-status.ts";
import type { JsonObject } from "#model/meta.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import type { EnvProblem } from "#sandbox/envs/check-env.ts";
import { membersIn } from "#sandbox/envs/env-members.ts";
import { type EnvTools, keyOf, memoryOf } from "./env-deps.ts";
import { envStatus, type WaitingRequests } from "./env-status.ts";
import { poolOfMember } from "./keep-members.ts";
import { observeMember } from "./observe-members.ts";
import { poolsWithoutMember } from "./retire-pools.ts";
import { happeningsOf, tellEnv } from "./tell-env.ts";

/** Resolves with when to look again. */
export async function writeStatus(
  tools: EnvTools,
  env: SandboxEnv,
  problems: readonly EnvProblem[],
  signal: AbortSignal,
): Promise<number | undefined> {
  const memory = memoryOf(tools, keyOf(env));
  const now = tools.clock.now();
  const status = statusOf(tools, env, problems);
  if (isDeepStrictEqual(withoutExtras(env.status, status), status)) return undefined;
  const waitMs = memory.statusAtMs === undefined ? 0 : memory.statusAtMs + tools.pace.statusEveryMs - now;
  if (waitMs > 0) return waitMs;
  memory.statusAtMs = now;
  const { resourceVersion = "" } = env.metadata;
  // A decision that is told no more, or a version that is pinned no more, must go.
  const absent = (["templateVersion"] as const).filter((field) => status[field] === undefined && env.status?.[field] !== undefined);
  const body = {
    metadata: { resourceVersion },
    status: { ...status, ...Object.fromEntries(absent.map((field) => [field, null])) } as unknown as JsonObject,
  };
  try {
    tools.cache.envs.remember(
      await tools.client.patch(SandboxEnvs, keyOf(env), { type: "merge", body }, { subresource: "status", signal }),
    );
    for (const happening of happeningsOf(env, status)) tellEnv(tools, env, happening);
  } catch (error) {
    if (!isLostRace(error)) throw error;
  }
  return undefined;
}

function statusOf(tools: EnvTools, env: SandboxEnv, problems: readonly EnvProblem[]): SandboxEnvStatus {
  const { clusterID, cache, clock } = tools;
  const { refusals } = memoryOf(tools, keyOf(env));
  const placed = membersIn(env, clusterID);
  const members = placed.map((one) => {
    const pool = poolOfMember(tools, env, one.member.name);
    return observeMember({ env, placed: one, pool, refusal: refusals.get(one.member.name)?.refusal.message, nowMs: clock.now() });
  });
  const decisions = new Map(
    placed.flatMap(({ member: { name } }) => {
      const decision = poolOfMember(tools, env, name)?.status?.autoscaling?.decision;
      return decision === undefined ? [] : [[name, decision] as const];
    }),
  );
  const isGoing = env.metadata.deletionTimestamp !== undefined;
  const leaving = isGoing ? poolsWithoutMember(tools, env, []).map(({ metadata: { name = "" } }) => name) : [];
  const template = cache.templates.objects.get({ name: env.spec.templateRef.name });
  const names = placed.map(({ member }) => member.name);
  const facts = { env, clusterID, problems, members, template, leaving, waiting: waitingAt(tools, env, names), decisions };
  return envStatus(facts, kubernetesTime(clock.now()));
}

/** Each request once, whatever the number of members that could serve it. */
function waitingAt(
  { pressure }: EnvTools,
  { metadata: { namespace = "" } }: SandboxEnv,
  names: readonly string[],
): readonly WaitingRequests[] {
  if (pressure === undefined) return [];
  const sets = new Map<string, WaitingSet>();
  for (const name of names) for (const set of pressure.setsAt({ namespace, name })) sets.set(set.pools.join(","), set);
  return [...sets.values()].map(({ pools, count }) => ({ members: pools.map((pool) => pool.slice(pool.indexOf("/") + 1)), count }));
}

/** What is there of the fields that we write: others may stand beside them. */
function withoutExtras(before: SandboxEnvStatus | undefined, status: SandboxEnvStatus): SandboxEnvStatus {
  const known = new Set([...Object.keys(status), "templateVersion"]);
  return Object.fromEntries(Object.entries(before ?? {}).filter(([field]) => known.has(field)));
}
