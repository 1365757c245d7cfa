/** Members of an Env are pools of its owner: they count against the limits of the team and of the server. */
import { labelKeys } from "#model/keys.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import { firstReplicas } from "#sandbox/envs/env-members.ts";
import type { Place } from "../limits/limit-guard.ts";
import type { EnvDeps } from "./env-deps.ts";
import { membersHere } from "./env-parts.ts";

/** Taken until the written Env is in the cache, where its members are counted. Throws limit_reached. Shrinking is always allowed. */
export function placeOf({ limits, cluster }: EnvDeps, next: SandboxEnv, present: SandboxEnv | undefined): Place | undefined {
  if (limits === undefined) return undefined;
  const id = cluster.id ?? "";
  const [team, before] = [teamOf(next), present && teamOf(present)];
  const known = team === before && present !== undefined ? membersHere(present, id) : [];
  const replicasBefore = new Map(known.map((member) => [member.name, firstReplicas(present ?? next, member)]));
  const members = membersHere(next, id);
  for (const member of members) {
    const replicas = firstReplicas(next, member);
    if (replicas > (replicasBefore.get(member.name) ?? 0)) limits.checkPoolSize(team, replicas);
  }
  const more = sum(members.map((member) => firstReplicas(next, member))) - sum(replicasBefore.values());
  return limits.reserve(ownerOf(next), {
    // Of members in other clusters no pool counts here, so Envs are counted by themselves.
    envs: present === undefined ? 1 : 0,
    pods: more,
    idlePods: more,
    pools: members.length - known.length,
  });
}

function sum(numbers: Iterable<number>): number {
  return Iterator.from(numbers).reduce((total, one) => total + one, 0);
}

function teamOf({ metadata: { labels } }: SandboxEnv): string {
  return labels?.[labelKeys.team] ?? "";
}

/** Limits of users count inside their team. */
function ownerOf({ metadata: { labels } }: SandboxEnv): { readonly team: string; readonly user?: string } {
  const user = labels?.[labelKeys.user];
  return { team: labels?.[labelKeys.team] ?? "", ...(user === undefined ? {} : { user }) };
}
