/** What an Env is checked against, read off the cache. */
import { envsByMember, envValue } from "#read-model/indexes.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { EnvLookups } from "#sandbox/envs/check-env.ts";
import { membersIn } from "#sandbox/envs/env-members.ts";

export interface LookupDeps {
  readonly cache: Pick<SandboxCache, "envs" | "pools" | "templates" | "instanceTypes">;
  readonly clusterID: string;
}

export function envLookups({ cache, clusterID }: LookupDeps, namespace: string | undefined): EnvLookups {
  return {
    clusterID,
    template: (name) => cache.templates.objects.get({ name }),
    instanceTypes: () => cache.instanceTypes(),
    pool: (name) => cache.pools.objects.get({ namespace, name }),
    envsWithMember: (name) =>
      cache.envs.objects
        .lookup(envsByMember, envValue({ namespace, name }))
        .filter((env) => membersIn(env, clusterID).some(({ member }) => member.name === name)),
  };
}
